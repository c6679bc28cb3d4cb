package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

const definitionKind = "CustomResourceDefinition"

// betaVersion is the version of NodePool, NodeClaim and EC2NodeClass before v1.
const betaVersion = "v1beta1"

// legacyKinds are the kinds of the definitions that legacy_api installs, by the name of
// the definition.
func legacyKinds() map[string]schema.GroupVersionKind {
	return map[string]schema.GroupVersionKind{
		legacy.ResourceProvisioner + "." + legacy.CoreGroup:    schema.FromAPIVersionAndKind(legacy.VersionProvisioner, legacy.KindProvisioner),
		legacy.ResourceAWSNodeTemplate + "." + legacy.AWSGroup: schema.FromAPIVersionAndKind(legacy.VersionAWSNodeTemplate, legacy.KindAWSNodeTemplate),
	}
}

// servesLegacy says whether the definitions of the kinds before v1 were applied by this
// provider: an import then has legacy_api = true.
func (c *Cluster) servesLegacy(ctx context.Context) (bool, error) {
	definitions, err := install.LegacyCRDs()
	if err != nil {
		return false, err
	}
	for _, definition := range definitions {
		found, err := c.Get(ctx, kube.RefOf(definition))
		if errors.Is(err, kube.ErrNotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		owned, err := kube.Owned(found, kube.FieldManager)
		if err != nil || len(owned) == 0 {
			return false, err
		}
	}
	return true, nil
}

// nothingStaleNeeded refuses while there are objects of a definition that was made and is
// no longer declared: with the definition, the API server would delete them.
func (c *Cluster) nothingStaleNeeded(ctx context.Context, objects []*unstructured.Unstructured, own ownership.Record) error {
	stale := ownership.Record{}
	for key, uid := range own {
		ref, isObject := kube.ParseKey(key)
		declared := slices.ContainsFunc(objects, func(o *unstructured.Unstructured) bool { return kube.RefOf(o).Key() == key })
		if isObject && ref.Kind == definitionKind && !declared {
			stale[key] = uid
		}
	}
	if len(stale) == 0 {
		return nil
	}
	return c.nothingLeft(ctx, stale)
}

// allReadable refuses a cluster in which objects may be stored in v1beta1: the definitions
// to apply do not have that version, and the API server could not read such objects any
// more. If definitions are adopted, every version that ours lacks counts.
func (c *Cluster) allReadable(ctx context.Context, objects []*unstructured.Unstructured, adopting bool) error {
	var found []unreadable
	for _, obj := range objects {
		if obj.GetKind() != definitionKind {
			continue
		}
		live, err := c.Get(ctx, kube.RefOf(obj))
		if errors.Is(err, kube.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		versions, err := unreadableIn(obj, live, adopting)
		if err != nil {
			return err
		}
		if len(versions) > 0 {
			found = append(found, unreadable{live, versions, storedBy(obj)})
		}
	}
	return refuseUnreadable(found)
}

// unreadable is a live definition with objects that could not be read by ours.
type unreadable struct {
	definition *unstructured.Unstructured
	versions   []string // in which they may be stored, and ours does not have
	to         string   // the version in which ours stores them
}

// unreadableIn lists the versions in which objects may be stored and which ours does not have.
func unreadableIn(wanted, live *unstructured.Unstructured, adopting bool) ([]string, error) {
	stored, _, err := unstructured.NestedStringSlice(live.Object, "status", "storedVersions")
	if err != nil {
		return nil, fmt.Errorf("%s status.storedVersions read: %w", kube.RefOf(live), err)
	}
	ours := versionsOf(wanted.Object)
	return slices.DeleteFunc(stored, func(version string) bool {
		_, known := ours[version]
		return known || version != betaVersion && !adopting
	}), nil
}

// refuseUnreadable names the definitions whose objects may be stored in other versions, with
// the commands that write these objects anew.
func refuseUnreadable(found []unreadable) error {
	var names, commands []string
	older := ""
	for _, u := range found {
		name := u.definition.GetName()
		names = append(names, fmt.Sprintf("%s (%s)", name, strings.Join(u.versions, ", ")))
		commands = append(commands,
			fmt.Sprintf("  kubectl get %s -o json | kubectl replace -f -", name),
			fmt.Sprintf("  kubectl patch customresourcedefinition %s --subresource=status --type=merge -p '{\"status\":{\"storedVersions\":[%q]}}'", name, u.to))
		if storedBy(u.definition) != u.to {
			older = u.to
		}
	}
	if len(names) == 0 {
		return nil
	}
	text := "Nothing was changed. While Karpenter 1.0 or later runs, write the objects anew, so that they are stored in v1:\n\n" + strings.Join(commands, "\n")
	if older != "" {
		text = "Nothing was changed. The definitions do not store " + older + " yet: upgrade Karpenter to 1.0 first, whose webhook converts the objects, or write them as v1 with karpenterd convert; see the guide From v1alpha5. " +
			"Then write the objects anew, so that they are stored in v1:\n\n" + strings.Join(commands, "\n")
	}
	return fmt.Errorf("%w: %s\n\n%s", failure.ErrStoredOtherwise, strings.Join(names, ", "), text)
}

// storedBy is the version in which the definition stores new objects.
func storedBy(definition *unstructured.Unstructured) string {
	for name, version := range versionsOf(definition.Object) {
		if version["storage"] == true {
			return name
		}
	}
	return ""
}
