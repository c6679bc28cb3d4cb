//go:build lab

package provider_test

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

const (
	poolsDefinition   = "nodepools.karpenter.sh"
	claimsDefinition  = "nodeclaims.karpenter.sh"
	classesDefinition = "ec2nodeclasses.karpenter.k8s.aws"
)

// helm is Helm with a release of the chart karpenter-crd.
type helm struct{ somebody }

// schemaOf is the path of the schema's part in a version.
func schemaOf(path ...string) []string {
	return append([]string{"schema", "openAPIV3Schema", "properties", "spec", "properties"}, path...)
}

// chart is a definition as an older chart has it: without columns and without a field, with
// a second version in which no object is stored, and a webhook that converts.
func (h helm) chart(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	crd := shipped(t, name)
	crd.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
	crd.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "karpenter-crd", "meta.helm.sh/release-namespace": "kube-system", "controller-gen.kubebuilder.io/version": "v0.1.0"})
	h.version(t, crd, func(v map[string]any) {
		delete(v, "additionalPrinterColumns")
		for _, path := range [][]string{schemaOf("disruption", "properties", "budgets"), schemaOf("detailedMonitoring"), schemaOf("expireAfter")} {
			unstructured.RemoveNestedField(v, path...)
		}
	})
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	older := maps.Clone(versions[0].(map[string]any))
	older["name"], older["storage"] = "v1beta1", false
	must(t, errors.Join(
		unstructured.SetNestedSlice(crd.Object, append(versions, older), "spec", "versions"),
		unstructured.SetNestedMap(crd.Object, map[string]any{"strategy": "Webhook", "webhook": map[string]any{
			"conversionReviewVersions": []any{"v1"}, "clientConfig": map[string]any{"service": map[string]any{"name": "karpenter", "namespace": "kube-system", "path": "/conversion"}},
		}}, "spec", "conversion")))
	return crd
}

// shipped is the daemon's own definition.
func shipped(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	crds, err := install.CRDs()
	must(t, err)
	return crds[slices.IndexFunc(crds, func(c *unstructured.Unstructured) bool { return c.GetName() == name })].DeepCopy()
}

// version changes the first version of the definition.
func (h helm) version(t *testing.T, crd *unstructured.Unstructured, change func(map[string]any)) {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	must(t, err)
	change(versions[0].(map[string]any))
	must(t, unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"))
}

// installs creates the definitions. They are gone when the test ends.
func (h helm) installs(t *testing.T) {
	t.Helper()
	for _, name := range definitionNames() {
		_, err := h.client.Resource(definitions).Create(t.Context(), h.chart(t, name), metav1.CreateOptions{FieldManager: "helm"})
		must(t, err)
		t.Cleanup(func() {
			if err := h.remove(definitions, "", name); err != nil && !notFound(err) {
				t.Error(err)
			}
		})
	}
}

// upgrades changes the first version of a definition, as another chart would.
func (h helm) upgrades(t *testing.T, name string, change func(version map[string]any)) error {
	t.Helper()
	live := h.get(definitions, "", name)
	h.version(t, live, change)
	_, err := h.client.Resource(definitions).Update(t.Context(), live, metav1.UpdateOptions{FieldManager: "helm"})
	return err
}

func definitionNames() []string {
	return []string{claimsDefinition, poolsDefinition, classesDefinition}
}

// wantAdopted fails unless the definition has our content, and what is Helm's.
func (h helm) wantAdopted(t *testing.T, name string) {
	t.Helper()
	live := h.get(definitions, "", name)
	owned, err := kube.Owned(live, kube.FieldManager)
	must(t, err)
	versions, _, _ := unstructured.NestedSlice(owned, "spec", "versions")
	strategy, _, _ := unstructured.NestedString(live.Object, "spec", "conversion", "strategy")
	if len(versions) != 1 || strategy != "None" {
		t.Errorf("%s: we own %d versions, conversion is %q", name, len(versions), strategy)
	}
	annotations := live.GetAnnotations()
	if live.GetLabels()["app.kubernetes.io/managed-by"] != "Helm" || annotations["meta.helm.sh/release-name"] != "karpenter-crd" || annotations["controller-gen.kubebuilder.io/version"] == "v0.1.0" {
		t.Errorf("%s: labels %v, annotations %v", name, live.GetLabels(), annotations)
	}
}

// looks are the definitions as text.
func (h helm) looks() map[string]string {
	out := map[string]string{}
	for _, name := range definitionNames() {
		out[name] = h.look(definitions, "", name)
	}
	return out
}

func (h helm) wantUnchanged(t *testing.T, before map[string]string) {
	t.Helper()
	for name, text := range before {
		h.theirs(t, text, definitions, "", name)
	}
}

// pool creates a NodePool of somebody else.
func (h helm) pool(t *testing.T) {
	t.Helper()
	must(t, h.create(nodePools, "", map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": theirs},
		"spec": map[string]any{"weight": int64(7), "template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "requirements": []any{},
		}}},
	}))
	t.Cleanup(func() {
		if err := h.remove(nodePools, "", theirs); err != nil && !notFound(err) {
			t.Error(err)
		}
	})
}

// handBack does what `karpenterd handback` requires and does.
func (h helm) handBack(t *testing.T, l *theLab) {
	t.Helper()
	must(t, l.patch(deployments, "karpenter", "karpenterd", `{"spec":{"replicas":0}}`))
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		n, _, _ := unstructured.NestedInt64(h.get(deployments, "karpenter", "karpenterd").Object, "status", "replicas")
		if n == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the daemon is not scaled to 0")
		}
	}
	must(t, l.patch(nodePools, "", theirs, `{"metadata":{"finalizers":null}}`))
}

func adopting(more object) object {
	config := idle(object{"adopt_definitions": true})
	maps.Copy(config, more)
	return config
}

func TestAdopt_DefinitionsBecomeOursAndOutliveTheDaemon(t *testing.T) {
	l := startLab(t)
	h := helm{l.somebody(t)}
	h.installs(t)
	h.pool(t)
	before := h.looks()
	uid := h.get(definitions, "", poolsDefinition).GetUID()
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	diags := daemon.apply(idle(nil))
	wantError(t, diags, `CustomResourceDefinition "nodeclaims.karpenter.sh" already exists`, "spec.expireAfter", "adopt_definitions = true")
	if strings.Contains(diags[0].Detail, "Delete it") {
		t.Errorf("the error advises to delete a definition: %s", diags[0].Detail)
	}
	wantNothingMade(t, daemon)
	h.wantUnchanged(t, before)

	wantNoError(t, daemon.apply(adopting(nil)))
	daemon.settled(adopting(nil))
	for _, name := range definitionNames() {
		h.wantAdopted(t, name)
	}
	if now := h.get(definitions, "", poolsDefinition).GetUID(); now != uid {
		t.Error("the definition was replaced")
	}
	// Helm writes its own again: that is drift, and an update adopts again.
	must(t, h.upgrades(t, poolsDefinition, func(v map[string]any) {
		unstructured.RemoveNestedField(v, schemaOf("disruption", "properties", "budgets")...)
	}))
	daemon.drifted(adopting(nil), "objects")
	wantNoError(t, daemon.apply(adopting(object{"log_level": "debug"})))
	daemon.settled(adopting(object{"log_level": "debug"}))
	h.wantAdopted(t, poolsDefinition)

	imported, diags := l.behind(t, nobody).imported("karpenter_daemon", "karpenter")
	wantNoError(t, diags)
	if attributeOf(t, imported.state, "adopt_definitions").String() != attributeOf(t, daemon.state, "adopt_definitions").String() {
		t.Error("the import does not know that definitions were adopted")
	}
	h.handBack(t, l)
	adopted := h.looks()
	wantNoError(t, imported.read())
	diags = imported.destroy()
	wantNoError(t, diags)
	if len(diags) != 2 || !strings.Contains(diags[0].Detail, `Namespace "karpenter"`) || !strings.Contains(diags[1].Detail, poolsDefinition) {
		t.Errorf("the destroy does not say what stays: %v", diags)
	}
	must(t, h.removeNamespace("karpenter")) // nobody knows who made it
	h.wantUnchanged(t, adopted)
	if h.gone(nodePools, "", theirs) || !h.gone(deployments, "karpenter", "karpenterd") {
		t.Error("the pool is gone, or the daemon is left")
	}
}

func TestAdopt_AnUpdateAdoptsAndAnotherOneEndsTheUpdates(t *testing.T) {
	l := startLab(t)
	h := helm{l.somebody(t)}
	h.installs(t)
	whole := func(v map[string]any) {
		versions, _, err := unstructured.NestedSlice(shipped(t, poolsDefinition).Object, "spec", "versions")
		must(t, err)
		v["schema"] = versions[0].(map[string]any)["schema"]
	}
	denied := ""
	daemon := l.behind(t, func(w http.ResponseWriter, r *http.Request) bool {
		return denied != "" && r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, denied) && deny(w)
	}).resource("karpenter_daemon")
	must(t, errors.Join(h.remove(definitions, "", claimsDefinition), h.remove(definitions, "", classesDefinition), h.upgrades(t, poolsDefinition, whole)))
	wantNoError(t, daemon.apply(idle(nil))) // the definition of pools fits now, and the others are made
	daemon.settled(idle(nil))
	before := h.look(definitions, "", poolsDefinition)

	denied = poolsDefinition
	wantError(t, daemon.apply(adopting(nil)), poolsDefinition, "denied")
	h.theirs(t, before, definitions, "", poolsDefinition)
	denied = ""
	wantNoError(t, daemon.read())
	// needs alone would write nothing.
	wantNoError(t, daemon.apply(adopting(object{"needs": list{"a"}})))
	daemon.settled(adopting(object{"needs": list{"a"}}))
	h.wantAdopted(t, poolsDefinition)

	adopted := h.look(definitions, "", poolsDefinition)
	wantNoError(t, daemon.apply(idle(object{"log_level": "debug"})))
	daemon.settled(idle(object{"log_level": "debug"}))
	h.theirs(t, adopted, definitions, "", poolsDefinition)
	wantNoError(t, daemon.destroy())
	h.theirs(t, adopted, definitions, "", poolsDefinition)
	if !h.gone(definitions, "", claimsDefinition) || !h.gone(definitions, "", classesDefinition) {
		t.Error("definitions that the daemon made are left")
	}
}

func TestAdopt_WhatWasBrokenOffGoesOn(t *testing.T) {
	l := startLab(t)
	h := helm{l.somebody(t)}
	h.installs(t)
	denied := ""
	behind := func(w http.ResponseWriter, r *http.Request) bool {
		return denied != "" && r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, denied) && deny(w)
	}
	daemon := l.behind(t, behind).resource("karpenter_daemon")
	denied = classesDefinition // the last
	diags := daemon.apply(adopting(nil))
	wantError(t, diags, classesDefinition, "denied")
	if !slices.ContainsFunc(diags, func(d *tfprotov6.Diagnostic) bool {
		return d.Severity == tfprotov6.DiagnosticSeverityWarning && strings.Contains(d.Detail, poolsDefinition) && !strings.Contains(d.Detail, classesDefinition)
	}) {
		t.Errorf("no warning says which definitions stay adopted: %+v", diags)
	}
	wantNothingMade(t, daemon)
	h.wantAdopted(t, poolsDefinition) // a definition that was adopted is not taken back
	if owned, err := kube.Owned(h.get(definitions, "", classesDefinition), kube.FieldManager); err != nil || len(owned) > 0 {
		t.Errorf("the definition is adopted all the same: %v %v", owned, err)
	}
	denied = ""
	wantNoError(t, daemon.apply(adopting(nil)))
	daemon.settled(adopting(nil))
	for _, name := range definitionNames() {
		h.wantAdopted(t, name)
	}
	wantNoError(t, daemon.destroy())
	for _, name := range definitionNames() {
		h.wantAdopted(t, name)
	}
}

// TestAdopt_NothingIsChangedIfObjectsCouldLoseSomething has stored versions and fields that
// our definitions lack, and a Helm that is faster.
func TestAdopt_NothingIsChangedIfObjectsCouldLoseSomething(t *testing.T) {
	l := startLab(t)
	h := helm{l.somebody(t)}
	h.installs(t)
	storedIn := func(versions string) {
		_, err := h.client.Resource(definitions).Patch(t.Context(), classesDefinition, "application/merge-patch+json", []byte(`{"status":{"storedVersions":`+versions+`}}`), metav1.PatchOptions{FieldManager: "kubectl"}, "status")
		must(t, err)
	}
	more := func() error {
		return h.upgrades(t, classesDefinition, func(v map[string]any) {
			_ = unstructured.SetNestedMap(v, map[string]any{"type": "string"}, schemaOf("newer")...)
		})
	}
	daemon := l.behind(t, nobody).resource("karpenter_daemon")
	storedIn(`["v1beta1","v1"]`)
	before := h.looks()
	wantError(t, daemon.apply(adopting(nil)), classesDefinition+" (v1beta1)", "Nothing was changed", "kubectl replace")
	h.wantUnchanged(t, before)
	storedIn(`["v1"]`)

	must(t, more())
	before = h.looks()
	wantError(t, daemon.apply(adopting(nil)), classesDefinition, "v1.spec.newer", "Leave adopt_definitions out")
	wantNothingMade(t, daemon)
	h.wantUnchanged(t, before)

	must(t, h.upgrades(t, classesDefinition, func(v map[string]any) { unstructured.RemoveNestedField(v, schemaOf("newer")...) }))
	late := l.behind(t, first(http.MethodPatch, classesDefinition, more)).resource("karpenter_daemon")
	wantError(t, late.apply(adopting(nil)), classesDefinition, "Apply again")
	wantError(t, late.apply(adopting(nil)), "v1.spec.newer") // as Helm has left it
}

// An import used to take definitions of somebody else for its own, and the destroy deleted
// them.
func TestImport_DefinitionsOfSomebodyElseStay(t *testing.T) {
	l := startLab(t)
	h := helm{l.somebody(t)}
	must(t, h.create(definitions, "", shipped(t, poolsDefinition).Object))
	t.Cleanup(func() {
		if err := h.remove(definitions, "", poolsDefinition); err != nil {
			t.Error(err)
		}
	})
	before := h.look(definitions, "", poolsDefinition)
	wantNoError(t, l.behind(t, nobody).resource("karpenter_daemon").apply(idle(nil)))
	imported, diags := l.behind(t, nobody).imported("karpenter_daemon", "karpenter")
	wantNoError(t, diags)
	wantNoError(t, imported.destroy())
	must(t, h.removeNamespace("karpenter")) // nobody knows who made it
	h.theirs(t, before, definitions, "", poolsDefinition)
	if !h.gone(definitions, "", claimsDefinition) || !h.gone(deployments, "karpenter", "karpenterd") {
		t.Error("what the daemon has made is left")
	}
}
