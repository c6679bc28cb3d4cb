package kubeobject

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/managed"
)

// A moved block can give an object to this provider that another provider has applied as a
// manifest: kubectl_manifest and kubernetes_manifest. Only the object's name is taken from
// the state of that provider. The next read does the rest, as after an import.

// source is a resource type of another provider whose state names an object.
type source struct {
	provider string // the last part of the provider's address
	kind     string
	versions []int64 // of the schema, that are known to have these attributes
	object   func(state []byte) (object, error)
}

// object is what a manifest is about.
type object struct{ APIVersion, Kind, Name string }

func sources() []source {
	return []source{
		{provider: "kubectl", kind: "kubectl_manifest", versions: []int64{0, 1}, object: ofKubectl},
		{provider: "kubernetes", kind: "kubernetes_manifest", versions: []int64{0, 1}, object: ofKubernetes},
	}
}

// header is the part of a manifest that says which object it is about.
type header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
}

func (h header) object() object {
	return object{APIVersion: h.APIVersion, Kind: h.Kind, Name: h.Metadata.Name}
}

// ofKubectl reads the manifest in yaml_body.
func ofKubectl(state []byte) (object, error) {
	var attributes struct {
		YAMLBody string `json:"yaml_body"`
	}
	if err := json.Unmarshal(state, &attributes); err != nil {
		return object{}, fmt.Errorf("state of kubectl_manifest read: %w", err)
	}
	var h header
	if err := yaml.Unmarshal([]byte(attributes.YAMLBody), &h); err != nil {
		return object{}, fmt.Errorf("yaml_body of kubectl_manifest read: %w", err)
	}
	return h.object(), nil
}

// ofKubernetes reads the attribute manifest, whose type is dynamic: the state has its type
// beside its value.
func ofKubernetes(state []byte) (object, error) {
	var attributes struct {
		Manifest struct {
			Value header `json:"value"`
		} `json:"manifest"`
	}
	if err := json.Unmarshal(state, &attributes); err != nil {
		return object{}, fmt.Errorf("state of kubernetes_manifest read: %w", err)
	}
	return attributes.Manifest.Value.object(), nil
}

// resourceFor is the resource of this provider for a kind of v1; "" if there is none.
func resourceFor(o object) string {
	switch {
	case o.Kind == v1.NodePoolKind && o.APIVersion == v1.GroupVersion().String():
		return "node_pool"
	case o.Kind == awsv1.EC2NodeClassKind && o.APIVersion == awsv1.GroupVersion().String():
		return "node_class"
	}
	return ""
}

// Movers are the moved blocks that the resource accepts.
func Movers(b *managed.Base) []resource.StateMover {
	var out []resource.StateMover
	for _, s := range sources() {
		out = append(out, resource.StateMover{StateMover: func(ctx context.Context, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
			address := strings.Split(req.SourceProviderAddress, "/")
			if address[len(address)-1] != s.provider || req.SourceTypeName != s.kind {
				return // the framework asks the next one
			}
			move(ctx, b, s, req, resp)
		}})
	}
	return out
}

func move(ctx context.Context, b *managed.Base, s source, req resource.MoveStateRequest, resp *resource.MoveStateResponse) {
	refuse := func(format string, arguments ...any) {
		resp.Diagnostics.AddError(fmt.Sprintf("Cannot move %s to karpenter_%s", s.kind, b.Kind), fmt.Sprintf(format, arguments...))
	}
	if !slices.Contains(s.versions, req.SourceSchemaVersion) || req.SourceRawState == nil {
		refuse("The state of this %s has schema version %d, which this version of the provider does not know. Use a removed block for it, with destroy = false, and an import block for karpenter_%s.", s.kind, req.SourceSchemaVersion, b.Kind)
		return
	}
	of, err := s.object(req.SourceRawState.JSON)
	if err != nil {
		refuse("%v. Use a removed block for it, with destroy = false, and an import block for karpenter_%s.", err, b.Kind)
		return
	}
	what := fmt.Sprintf("%s %q of %s", of.Kind, of.Name, of.APIVersion)
	switch kind := resourceFor(of); {
	case kind == b.Kind && of.Name != "":
	case kind != "":
		refuse("The state has %s, which is a karpenter_%s. Correct the moved block.", what, kind)
		return
	case older(of):
		refuse("The state has %s. This API is older than the resources of this provider. Convert the manifest with provider::karpenter::convert, or with karpenterd convert --hcl, and let both exist until the nodes have moved; "+
			"or keep the %s, and set legacy_api = true in karpenter_daemon, which serves the object as it is.", what, s.kind)
		return
	default:
		refuse("The state has %s, for which this provider has no resource.", what)
		return
	}
	resp.Diagnostics.Append(resp.TargetState.SetAttribute(ctx, path.Root(b.Keys[0]), of.Name)...)
	b.Identify(ctx, resp.TargetIdentity, &resp.Diagnostics, onlyName(of.Name))
}

// older tells whether the object is of an API of Karpenter before v1.
func older(o object) bool {
	group, version, _ := strings.Cut(o.APIVersion, "/")
	return (group == v1.Group || group == awsv1.Group) && version != v1.Version && o.Kind != "" ||
		o.Kind == legacy.KindProvisioner || o.Kind == legacy.KindAWSNodeTemplate
}

// onlyName is an object that is identified by its name alone.
type onlyName string

func (n onlyName) IDs() []string { return []string{string(n)} }
