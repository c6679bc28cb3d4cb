package daemon

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// mostNamed is how many foreign objects a message names at most.
const mostNamed = 5

// othersIn names some of the objects in the namespace that somebody else has made.
// Objects that exist only because of the namespace are left out: nobody would miss
// them. A kind that cannot be listed is named too: there may be objects of it.
func (c *Cluster) othersIn(ctx context.Context, namespace string) ([]string, error) {
	var others []string
	lists, err := discovery.ServerPreferredNamespacedResources(c.Discovery())
	if failed, groups := discovery.GroupDiscoveryFailedErrorGroups(err); groups {
		for group := range failed {
			others = append(others, unlisted(group.String()))
		}
		slices.Sort(others)
	} else if err != nil {
		return nil, fmt.Errorf("namespace %q list objects: %w", namespace, err)
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("namespace %q list objects: %w", namespace, err)
		}
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "delete") || resource.Kind == "Event" || resource.Kind == "Endpoints" {
				continue
			}
			found, err := c.Dynamic().Resource(version.WithResource(resource.Name)).Namespace(namespace).List(ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
				continue
			}
			if err != nil {
				others = append(others, unlisted(resource.Name))
				continue
			}
			for _, item := range found.Items {
				if !goesWithNamespace(&item) {
					others = append(others, kube.RefOf(&item).String())
				}
			}
		}
		if len(others) >= mostNamed {
			return append(others[:mostNamed], "..."), nil
		}
	}
	return others, nil
}

// unlisted names a kind or group whose objects cannot be listed.
func unlisted(what string) string { return "possibly " + what + " (cannot be listed)" }

// goesWithNamespace tells whether an object exists only because of the namespace
// or of another object, or is being deleted.
func goesWithNamespace(obj *unstructured.Unstructured) bool {
	if obj.GetDeletionTimestamp() != nil || len(obj.GetOwnerReferences()) > 0 {
		return true
	}
	switch obj.GetKind() {
	case "ConfigMap":
		return obj.GetName() == "kube-root-ca.crt"
	case "ServiceAccount":
		return obj.GetName() == "default"
	case "Secret":
		_, token := obj.GetAnnotations()[corev1.ServiceAccountNameKey]
		return token
	}
	return false
}
