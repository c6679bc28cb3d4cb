package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/dump"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/simulate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// olderKind is a kind of Karpenter before v1.
type olderKind struct {
	dump.Kind

	resource string
	// newer is the kind of v1, as in watched.what, that has the same objects where the cluster
	// serves it; "" for none.
	newer string
}

func olderKinds() []olderKind {
	return []olderKind{
		{dump.Kind{APIVersion: wire.VersionNodePool, Kind: wire.KindNodePool}, v1.NodePoolResource, v1.NodePoolResource + "." + wire.CoreGroup},
		{dump.Kind{APIVersion: wire.VersionNodePool, Kind: wire.KindNodeClaim}, v1.NodeClaimResource, v1.NodeClaimResource + "." + wire.CoreGroup},
		{dump.Kind{APIVersion: wire.VersionEC2NodeClass, Kind: wire.KindEC2NodeClass}, awsv1.EC2NodeClassResource, awsv1.EC2NodeClassResource + "." + wire.AWSGroup},
		{dump.Kind{APIVersion: wire.VersionProvisioner, Kind: wire.KindProvisioner}, wire.ResourceProvisioner, ""},
		{dump.Kind{APIVersion: wire.VersionAWSNodeTemplate, Kind: wire.KindAWSNodeTemplate}, wire.ResourceAWSNodeTemplate, ""},
	}
}

// what is the resource and its group.
func (k olderKind) what() string { return k.of().Resource + "." + k.of().Group }

func (k olderKind) of() schema.GroupVersionResource {
	return schema.FromAPIVersionAndKind(k.APIVersion, k.Kind.Kind).GroupVersion().WithResource(k.resource)
}

// askOlder reads the objects of Karpenter before v1, which are converted as those of a dump. What
// is not served as v1 is in unserved.
func askOlder(ctx context.Context, clients *kube.Clients, cluster *simulate.Cluster, unserved []string) error {
	found := dump.Found{Kinds: map[dump.Kind]int{}}
	for _, k := range olderKinds() {
		if k.newer != "" && !slices.Contains(unserved, k.newer) {
			continue
		}
		there, err := k.served(clients)
		if err != nil {
			return err
		}
		if !there {
			continue
		}
		list := watching(k.what(), clients.Any.Resource(k.of()), &unstructured.Unstructured{})
		var broken error
		_, err = list.read(ctx, func(o metav1.Object) {
			text, err := json.Marshal(o)
			if err != nil {
				broken = fmt.Errorf("%s %s read: %w", k, o.GetName(), err)
			}
			found.Kinds[k.Kind]++
			found.Older = append(found.Older, dump.Text{Source: k.what(), Kind: k.Kind, Text: text})
		})
		switch {
		case apierrors.IsForbidden(err):
			cluster.Note("not allowed to list %s, so none counts: give your user the right to list them", list.what)
		case err != nil:
			return fmt.Errorf("%s list: %w", list.what, err)
		case broken != nil:
			return broken
		}
	}
	return cluster.AddOlder(&found) //nolint:wrapcheck // it says all
}

// served says whether the cluster has the kind. Where the user may not ask, it counts as absent.
func (k olderKind) served(clients *kube.Clients) (bool, error) {
	found, err := clients.Core.Discovery().ServerResourcesForGroupVersion(k.APIVersion)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("api %s discover: %w", k.APIVersion, err)
	}
	return slices.ContainsFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Name == k.resource }), nil
}
