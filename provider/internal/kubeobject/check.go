package kubeobject

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/definition"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/memo"
)

// Definitions compiles the custom resource definitions on first use, and keeps
// them: to compile one takes some tens of milliseconds.
type Definitions struct {
	compiled map[string]*memo.Value[*definition.Definition] // by kind
}

// NewDefinitions are those of which none is compiled yet.
func NewDefinitions() *Definitions {
	return &Definitions{compiled: map[string]*memo.Value[*definition.Definition]{v1.NodePoolKind: {}, awsv1.EC2NodeClassKind: {}}}
}

func (d *Definitions) of(kind string) (*definition.Definition, error) {
	return d.compiled[kind].Get(func() (*definition.Definition, error) {
		for _, document := range append(v1.CRDs(), awsv1.CRDs()...) {
			if strings.Contains(string(document), "\n    kind: "+kind+"\n") {
				return definition.Parse(document, awsv1.KubeletFields()...)
			}
		}
		return nil, fmt.Errorf("kind %s has no definition", kind)
	})
}

// Check returns the objections that the API server would have to the spec, between the
// first and the further ones, each at its attribute and one for each attribute. If an
// unknown value may be the cause of an objection, the objection is left to the API server.
func (d *Definitions) Check(ctx context.Context, kind string, spec any, config tftypes.Value, first, further []*field.Error) diag.Diagnostics {
	var diags diag.Diagnostics
	defect := func(err error) diag.Diagnostics {
		diags.AddError("Cannot check the configuration", fmt.Sprintf("The check of the %s failed: %v. This is a defect of the provider: please report it.", kind, err))
		return diags
	}
	rules, err := d.of(kind)
	if err != nil {
		return defect(err)
	}
	unknown, err := definition.Unknown(config)
	if err != nil {
		return defect(err)
	}
	objections, err := rules.Validate(ctx, spec)
	if err != nil {
		return defect(err)
	}
	rename := strings.NewReplacer(
		"spec.template.spec.nodeClassRef.name", "node_class", "spec.template.spec.", "", "spec.template.metadata.", "", "spec.", "")
	var said []string
	for _, objection := range slices.Concat(first, objections, further) {
		at := definition.Attribute(objection.Field, rename, config.Type())
		// A rule on a whole class is about several attributes, and its text names them.
		whole := kind == awsv1.EC2NodeClassKind && objection.Field == "spec"
		here := at.Path().String()
		above := func(other string) bool {
			return here == other || strings.HasPrefix(here, other+".") || strings.HasPrefix(here, other+"[")
		}
		if at.Touches(unknown) || whole && len(unknown) > 0 || slices.ContainsFunc(said, above) {
			continue
		}
		said = append(said, here)
		if whole {
			diags.AddError("Invalid "+kind, words(objection, rules)+".")
			continue
		}
		diags.AddAttributeError(at.Path(), "Invalid "+kind, fmt.Sprintf("%s: %s.", at.Path(), words(objection, rules)))
	}
	return diags
}

// AsErrors gives faults that the API server accepts, and that would keep the object from
// being ready or from being carried out.
func AsErrors(faults ...translate.Fault) []*field.Error {
	var out []*field.Error
	for _, f := range faults {
		out = append(out, &field.Error{Type: field.ErrorTypeInvalid, Field: f.Path, BadValue: "object", Detail: f.Effect + ": " + f.Remedy})
	}
	return out
}

// words is the text of an objection. A bad value that only names the type of the
// field is left out. Then the text is that of a rule, which names fields: attributes
// take their place.
func words(e *field.Error, rules *definition.Definition) string {
	switch e.BadValue {
	case "object", "array", "map", "string", "integer", field.OmitValueType{}:
		if e.Detail != "" {
			return rules.Attributes(e.Detail)
		}
	}
	return strings.TrimSuffix(e.ErrorBody(), ".")
}
