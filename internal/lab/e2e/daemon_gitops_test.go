//go:build lab

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install/values"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// withoutTerraform is a user who goes by the guide to an installation without Terraform.
type withoutTerraform struct {
	*daemonLab

	guide guide
}

// installWithoutTerraform installs the daemon by Helm, uninstalls it, which leaves the definitions,
// and installs it by manifests. What is in the cluster then is what the provider applies.
func (d *daemonLab) installWithoutTerraform(t *testing.T) withoutTerraform {
	t.Helper()
	u := withoutTerraform{d, d.terminal(t).openGuide(t, "gitops")}
	u.writeValues(t)
	root, err := toolchain.Root()
	if err != nil {
		t.Fatal(err)
	}
	u.guide.run(t, "documents")
	var documents map[string]any
	if text, err := os.ReadFile(filepath.Join(u.guide.dir, "documents.json")); err != nil || json.Unmarshal(text, &documents) != nil || documents["controller-trust-irsa"] == nil {
		t.Errorf("documents.json: %v: %s", err, text)
	}
	const rollout = "kubectl -n karpenter rollout status deployment karpenterd --timeout=60s"
	u.guide.run(t, "helm", "daemon/chart", filepath.Join(root, "daemon", "chart"))
	u.guide.must(t, rollout)
	// A daemon whose rights go before it does cannot give up its Lease, and the next one would wait for that.
	u.guide.must(t, "kubectl -n karpenter scale deployment karpenterd --replicas=0 && kubectl -n karpenter wait --for=delete pod -l app.kubernetes.io/name=karpenterd --timeout=60s")
	u.guide.must(t, "helm uninstall karpenterd --namespace karpenter --wait")
	if kept := u.guide.must(t, "kubectl get crd -o name"); !strings.Contains(kept, "nodepools.karpenter.sh") {
		t.Fatalf("the definitions went with the release: %s", kept)
	}
	u.guide.run(t, "apply")

	generations := func() string {
		return u.guide.must(t, `kubectl -n karpenter get deployment,poddisruptionbudget,crd -o jsonpath='{range .items[*]}{.metadata.name} {.metadata.generation}{"\n"}{end}'`)
	}
	before := generations()
	objects, err := install.Objects(d.options)
	if err != nil {
		t.Fatal(err)
	}
	d.apply(t, objects...) // a field that has another value is a conflict
	if after := generations(); before != after {
		t.Errorf("what the provider applies changes\n%s to\n%s", before, after)
	}
	return u
}

// writeValues writes the values of the laboratory's daemon.
func (u withoutTerraform) writeValues(t *testing.T) {
	t.Helper()
	v := values.Default()
	v.Settings.ClusterName, v.Settings.Region, v.Settings.InterruptionQueue = u.options.ClusterName, u.options.Region, u.options.QueueName
	v.ServiceAccount.RoleARN, v.Controller.Image = u.options.RoleARN, values.ImageOf(u.options.Image)
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(u.guide.dir, "values.yaml"), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// end finds that nothing of the manifests has changed while the daemon worked, removes the daemon and the
// nodes of the pools, and checks that nothing is left.
func (u withoutTerraform) end(t *testing.T, pools ...pool) {
	t.Helper()
	if changed := u.guide.run(t, "compare"); changed != "" {
		t.Errorf("an apply would change\n%s", changed)
	}
	u.guide.run(t, "end")
	for _, p := range pools {
		eventually(t, func() error {
			if left := u.instances(p); len(left) > 0 {
				return fmt.Errorf("%d instances of pool %s run", len(left), p.name)
			}
			return nil
		})
	}
	for _, what := range []string{"-n karpenter deployment,service,configmap,role,serviceaccount,lease -l app.kubernetes.io/name=karpenterd", "clusterrole karpenterd", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"} {
		if left := u.guide.must(t, "kubectl get "+what+" --ignore-not-found -o name"); left != "" {
			t.Errorf("left: %s", left)
		}
	}
}
