//go:build lab

package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

var (
	serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}
	namespaces      = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions     = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	deployments     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	nodePools       = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
	nodeClasses     = schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}
)

// somebody is a person with kubectl.
type somebody struct {
	t      *testing.T
	client dynamic.Interface
}

func (l *theLab) somebody(t *testing.T) somebody {
	t.Helper()
	client, err := dynamic.NewForConfig(l.AdminConfig)
	if err != nil {
		t.Fatal(err)
	}
	return somebody{t, client}
}

func (s somebody) create(gvr schema.GroupVersionResource, namespace string, obj map[string]any) error {
	_, err := s.client.Resource(gvr).Namespace(namespace).Create(context.Background(), &unstructured.Unstructured{Object: obj}, metav1.CreateOptions{FieldManager: "kubectl-create"})
	return err
}

func (s somebody) get(gvr schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	s.t.Helper()
	obj, err := s.client.Resource(gvr).Namespace(namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return obj
}

// look is the object as text, without the fields that controllers write.
func (s somebody) look(gvr schema.GroupVersionResource, namespace, name string) string {
	s.t.Helper()
	obj := s.get(gvr, namespace, name)
	obj.SetManagedFields(nil)
	obj.SetResourceVersion("")
	delete(obj.Object, "status")
	text, err := json.MarshalIndent(obj.Object, "", "  ")
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// remove deletes the object and its finalizers.
func (s somebody) remove(gvr schema.GroupVersionResource, namespace, name string) error {
	client := s.client.Resource(gvr).Namespace(namespace)
	if err := client.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	for {
		obj, err := client.Get(context.Background(), name, metav1.GetOptions{})
		switch {
		case notFound(err):
			return nil
		case err != nil:
			return err
		}
		obj.SetFinalizers(nil)
		_, _ = client.Update(context.Background(), obj, metav1.UpdateOptions{})
	}
}

// unchanged fails if the object has changed.
func (s somebody) unchanged(before string, gvr schema.GroupVersionResource, namespace, name string) error {
	if after := s.look(gvr, namespace, name); after != before {
		return fmt.Errorf("what somebody else made is not as it was: %s", cmp.Diff(before, after))
	}
	return nil
}

// TestAccForeign_ObjectsOfTheDaemon puts a namespace and a service account of
// somebody else in the daemon's way. Two applies fail and leave nothing. The destroy
// does not change the two objects.
func TestAccForeign_ObjectsOfTheDaemon(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	s := l.somebody(t)
	var account, namespace string
	config := l.infrastructure() + fmt.Sprintf(daemonBlock, "")
	run(t, func() error {
		err := errors.Join(s.unchanged(account, serviceAccounts, "karpenter", "karpenter"), s.unchanged(namespace, namespaces, "", "karpenter"))
		_, crd := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
		return errors.Join(err, gone("definition", crd, notInCluster), s.remove(serviceAccounts, "karpenter", "karpenter"), s.removeNamespace("karpenter"))
	},
		resource.TestStep{
			PreConfig: meddle(t, func() error {
				err := errors.Join(
					s.create(namespaces, "", map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "karpenter", "labels": map[string]any{"owner": "somebody"}}}),
					s.create(serviceAccounts, "karpenter", map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": "karpenter"}}))
				if err == nil {
					account, namespace = s.look(serviceAccounts, "karpenter", "karpenter"), s.look(namespaces, "", "karpenter")
				}
				return err
			}),
			Config: config, ExpectError: regexp.MustCompile(`(?s)ServiceAccount\s+"karpenter/karpenter"\s+already\s+exists.*metadata.annotations`),
		},
		resource.TestStep{
			PreConfig: meddle(t, func() error {
				_, crd := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodepools.karpenter.sh")
				return gone("definition that the failed apply made", crd, notInCluster)
			}),
			Config: config, ExpectError: regexp.MustCompile(`(?s)ServiceAccount\s+"karpenter/karpenter"\s+already\s+exists`),
		},
	)
}

func notFound(err error) bool { return apierrors.IsNotFound(err) }

// removeNamespace removes the namespace with everything in it. The namespace
// controller removes the finalizer.
func (s somebody) removeNamespace(name string) error {
	client := s.client.Resource(namespaces)
	if err := client.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	for {
		switch _, err := client.Get(context.Background(), name, metav1.GetOptions{}); {
		case notFound(err):
			return nil
		case err != nil:
			return err
		}
	}
}

// TestAccForeign_DefinitionsThatFitAreUsedAndLeftBehind lets somebody else install a
// definition. A definition that fits is used as it is; one that does not fit is an
// error.
func TestAccForeign_DefinitionsThatFitAreUsedAndLeftBehind(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	s := l.somebody(t)
	crds, err := install.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	const name = "nodepools.karpenter.sh"
	var before string
	install := func(whole bool) error {
		for _, crd := range crds {
			if crd.GetName() != name {
				continue
			}
			crd = crd.DeepCopy()
			// Texts, columns and rules are the owner's affair; fields are not.
			versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
			delete(versions[0].(map[string]any), "additionalPrinterColumns")
			_ = unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
			if !whole {
				unstructured.RemoveNestedField(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec", "properties", "disruption", "properties", "budgets")
				_ = unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
			}
			if err := s.create(definitions, "", crd.Object); err != nil {
				return err
			}
		}
		before = s.look(definitions, "", name)
		return nil
	}
	config := l.infrastructure() + fmt.Sprintf(daemonBlock, "")
	run(t, func() error {
		_, crd := l.get("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodeclaims.karpenter.sh")
		return errors.Join(s.unchanged(before, definitions, "", name), gone("definition of ours", crd, notInCluster), s.remove(definitions, "", name))
	},
		resource.TestStep{
			PreConfig: meddle(t, func() error { return install(false) }),
			Config:    config, ExpectError: regexp.MustCompile(`(?s)CustomResourceDefinition\s+"nodepools.karpenter.sh"\s+already\s+exists`),
		},
		resource.TestStep{
			PreConfig: meddle(t, func() error {
				return errors.Join(s.unchanged(before, definitions, "", name), s.remove(definitions, "", name), install(true))
			}),
			Config: config,
		},
	)
}

// TestAccForeign_NodePoolAndClass puts a pool and a class of somebody else in the
// way: first before ours, then in place of ours.
func TestAccForeign_NodePoolAndClass(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	s := l.somebody(t)
	base := l.infrastructure() + fmt.Sprintf(daemonBlock, "")
	class, pool := fmt.Sprintf(classBlock, ""), fmt.Sprintf(poolBlock, "")
	theirClass := func() error {
		return s.create(nodeClasses, "", map[string]any{
			"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": map[string]any{"name": "default"},
			"spec": map[string]any{
				"instanceProfile": "theirs", "amiSelectorTerms": []any{map[string]any{"alias": "al2023@latest"}}, "tags": map[string]any{"owner": "somebody"},
				"subnetSelectorTerms": []any{map[string]any{"id": l.VPC.SubnetIDs[0]}}, "securityGroupSelectorTerms": []any{map[string]any{"id": l.VPC.ClusterSecurityGroupID}},
			},
		})
	}
	theirPool := func() error {
		return s.create(nodePools, "", map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": map[string]any{"name": "default"},
			"spec": map[string]any{"weight": int64(7), "template": map[string]any{"spec": map[string]any{
				"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
				"requirements": []any{map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"spot"}}},
			}}},
		})
	}
	exists := func(kind string) *regexp.Regexp {
		return regexp.MustCompile(`(?s)` + kind + `\s+"default"\s+already\s+exists`)
	}
	var before string
	put := func(gvr schema.GroupVersionResource, makeIt func() error) func() {
		return meddle(t, func() error {
			err := makeIt()
			if err == nil {
				before = s.specOf(gvr)
			}
			return err
		})
	}
	run(t, l.nothingRuns,
		resource.TestStep{Config: base},
		resource.TestStep{PreConfig: put(nodeClasses, theirClass), Config: base + class, ExpectError: exists("EC2NodeClass")},
		resource.TestStep{Config: base + class, ExpectError: exists("EC2NodeClass")},
		resource.TestStep{Config: base, Check: s.same(nodeClasses, &before)}, // the destroy does not delete their class
		resource.TestStep{PreConfig: meddle(t, func() error { return s.remove(nodeClasses, "", "default") }), Config: base + class},
		resource.TestStep{PreConfig: put(nodePools, theirPool), Config: base + class + pool, ExpectError: exists("NodePool")},
		resource.TestStep{Config: base + class + pool, ExpectError: exists("NodePool")},
		resource.TestStep{Config: base + class, Check: s.same(nodePools, &before)},
		resource.TestStep{PreConfig: meddle(t, func() error { return s.remove(nodePools, "", "default") }), Config: base + class + pool},
		resource.TestStep{ // somebody replaces ours
			PreConfig: put(nodePools, func() error { return errors.Join(s.remove(nodePools, "", "default"), theirPool()) }),
			Config:    base + class + pool, ExpectError: exists("NodePool"),
		},
		resource.TestStep{Config: base + class, Check: s.same(nodePools, &before)},
		resource.TestStep{PreConfig: meddle(t, func() error { return s.remove(nodePools, "", "default") }), Config: base + class},
	)
}

// specOf is the spec and the identity of the object named default.
func (s somebody) specOf(gvr schema.GroupVersionResource) string {
	s.t.Helper()
	obj := s.get(gvr, "", "default")
	text, err := json.MarshalIndent(map[string]any{"uid": obj.GetUID(), "spec": obj.Object["spec"]}, "", "  ")
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s somebody) same(gvr schema.GroupVersionResource, before *string) func(*terraform.State) error {
	return func(*terraform.State) error {
		if after := s.specOf(gvr); after != *before {
			return fmt.Errorf("what somebody else made is not as it was: %s", cmp.Diff(*before, after))
		}
		return nil
	}
}

// anotherCluster is the laboratory's API server with another UID of kube-system. The
// provider identifies a cluster by this UID alone.
func (l *theLab) anotherCluster(t *testing.T) string {
	t.Helper()
	return l.through(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/api/v1/namespaces/kube-system" {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":"11111111-2222-3333-4444-555555555555"}}`)
		return true
	})
}

// TestAccForeign_AnotherClusterIsRefused points the provider at another cluster that
// has a pool and a class of the same names. No refresh, apply or destroy touches
// them.
func TestAccForeign_AnotherClusterIsRefused(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	s := l.somebody(t)
	right := l.infrastructure() + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "") + fmt.Sprintf(poolBlock, "")
	wrong := strings.Replace(right, `eks    = { cluster_name = "lab" }`, fmt.Sprintf("kubernetes = { host = %q, token = \"t\" }", l.anotherCluster(t)), 1)
	refused := regexp.MustCompile(`(?s)another\s+cluster.*11111111-2222-3333-4444-555555555555`)
	var before string
	run(t, l.nothingRuns,
		resource.TestStep{Config: right, Check: func(*terraform.State) error { before = s.specOf(nodePools); return nil }},
		resource.TestStep{Config: wrong, ExpectError: refused},
		resource.TestStep{Config: wrong, Destroy: true, ExpectError: refused},
		resource.TestStep{Config: right, Check: s.same(nodePools, &before), ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}},
	)
}
