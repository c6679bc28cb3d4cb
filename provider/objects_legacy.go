package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
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
func (c *cluster) servesLegacy(ctx context.Context) (bool, error) {
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
func (c *cluster) nothingStaleNeeded(ctx context.Context, objects []*unstructured.Unstructured, own made) error {
	stale := made{}
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

// noBeta refuses a cluster in which objects may be stored in v1beta1: the definitions to
// apply do not have that version, and the API server could not read such objects any more.
func (c *cluster) noBeta(ctx context.Context, objects []*unstructured.Unstructured) error {
	var found []*unstructured.Unstructured
	for _, obj := range objects {
		if obj.GetKind() != definitionKind {
			continue
		}
		live, err := c.Get(ctx, kube.RefOf(obj))
		switch {
		case errors.Is(err, kube.ErrNotFound):
		case err != nil:
			return err
		default:
			found = append(found, live)
		}
	}
	return refuseBeta(found)
}

// refuseBeta names the definitions whose objects may be stored in v1beta1, with the
// commands that write these objects anew.
func refuseBeta(definitions []*unstructured.Unstructured) error {
	var names, commands []string
	older := false
	for _, d := range definitions {
		stored, _, err := unstructured.NestedStringSlice(d.Object, "status", "storedVersions")
		if err != nil {
			return fmt.Errorf("%s status.storedVersions read: %w", kube.RefOf(d), err)
		}
		if !slices.Contains(stored, betaVersion) {
			continue
		}
		names = append(names, d.GetName())
		commands = append(commands,
			fmt.Sprintf("  kubectl get %s -o json | kubectl replace -f -", d.GetName()),
			fmt.Sprintf("  kubectl patch customresourcedefinition %s --subresource=status --type=merge -p '{\"status\":{\"storedVersions\":[%q]}}'", d.GetName(), v1.Version))
		older = older || !storesV1(d)
	}
	if len(names) == 0 {
		return nil
	}
	text := "Nothing was changed. While Karpenter 1.0 or later runs, write the objects anew, so that they are stored in v1:\n\n" + strings.Join(commands, "\n")
	if older {
		text = "Nothing was changed. The definitions do not store v1 yet: upgrade Karpenter to 1.0 first, whose webhook converts the objects, or write them as v1 with karpenterd convert. " +
			"Then write the objects anew, so that they are stored in v1:\n\n" + strings.Join(commands, "\n")
	}
	return fmt.Errorf("%w: %s\n\n%s", ErrStoredBeta, strings.Join(names, ", "), text)
}

// storesV1 says whether new objects of the definition are stored in v1.
func storesV1(definition *unstructured.Unstructured) bool {
	versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
	return err == nil && slices.ContainsFunc(versions, func(x any) bool {
		version, is := x.(map[string]any)
		return is && version["name"] == v1.Version && version["storage"] == true
	})
}
