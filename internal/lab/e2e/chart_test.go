//go:build lab

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// What the guides call the things of the old controller.
const (
	karpenterNamespace = "kube-system"
	controllerChart    = "karpenter"
	crdChart           = "karpenter-crd"
)

// controllerTemplate is a Deployment of the names that Karpenter's chart gives, whose pod fits
// nowhere.
const controllerTemplate = `apiVersion: apps/v1
kind: Deployment
metadata: {name: karpenter, namespace: {{ .Release.Namespace }}, labels: {app.kubernetes.io/name: karpenter}}
spec:
  replicas: 1
  selector: {matchLabels: {app.kubernetes.io/name: karpenter}}
  template:
    metadata: {labels: {app.kubernetes.io/name: karpenter}}
    spec: {nodeSelector: {no: such}, containers: [{name: controller, image: "karpenter:1"}]}
`

// charts writes two charts that are like Karpenter's: the one of the controller, which has
// the definitions among its files for the first installation, and the one of the
// definitions, which has them as templates.
func (x *terminal) charts(t *testing.T) {
	t.Helper()
	definitions, err := install.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{controllerChart + "/templates/deployment.yaml": controllerTemplate}
	for _, chart := range []string{controllerChart, crdChart} {
		files[chart+"/Chart.yaml"] = "{apiVersion: v2, name: " + chart + ", version: 1.14.1}\n"
	}
	for _, o := range definitions {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "{{") {
			t.Fatalf("%s looks like a template", o.GetName())
		}
		files[controllerChart+"/crds/"+o.GetName()+".yaml"] = string(text)
		files[crdChart+"/templates/"+o.GetName()+".yaml"] = string(text)
	}
	for name, text := range files {
		path := filepath.Join(x.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// installCharts installs both.
func (x *terminal) installCharts(t *testing.T, flags string) {
	t.Helper()
	x.must(t, "helm install "+crdChart+" ./"+crdChart+" --namespace "+karpenterNamespace+" "+flags)
	x.must(t, "helm install "+controllerChart+" ./"+controllerChart+" --namespace "+karpenterNamespace)
}
