package provider

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

var _ function.Function = (*convertFunction)(nil)

// convertFunction is provider::karpenter::convert. It is pure, as Terraform asks.
type convertFunction struct{}

func newConvert() function.Function { return &convertFunction{} }

// converted is what the function returns.
type converted struct {
	Manifests   string            `tfsdk:"manifests"`
	NodePools   map[string]string `tfsdk:"node_pools"`
	NodeClasses map[string]string `tfsdk:"node_classes"`
	Environment map[string]string `tfsdk:"environment"`
	Warnings    []string          `tfsdk:"warnings"`
}

// Metadata names the function.
func (f *convertFunction) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "convert"
}

// Definition describes the function.
func (f *convertFunction) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	texts := types.MapType{ElemType: types.StringType}
	resp.Definition = function.Definition{
		Summary: "Convert manifests of Karpenter's older APIs to v1",
		MarkdownDescription: "Converts Provisioners (`v1alpha5`), AWSNodeTemplates (`v1alpha1`), NodePools, NodeClaims and EC2NodeClasses (`v1beta1`) and the ConfigMap `karpenter-global-settings` " +
			"to `karpenter.sh/v1` and `karpenter.k8s.aws/v1`. The result does what the input did: defaults that v1 has changed are written out. An input that cannot be converted is an error that names the object, the field and the remedy.\n\n" +
			"The function returns an object:\n\n" +
			"- `manifests` (String) All objects in YAML.\n" +
			"- `node_pools` (Map of String) The NodePools in YAML, by name.\n" +
			"- `node_classes` (Map of String) The EC2NodeClasses in YAML, by name.\n" +
			"- `environment` (Map of String) The settings that the daemon has, as environment variables. Empty if the text has none.\n" +
			"- `warnings` (List of String) What the conversion changes and what the daemon does not carry out, with the reason and what to do.\n\n" +
			"Objects of `v1` stay as they are. The command `karpenterd convert --hcl` writes resources of this provider in place of manifests, also of those.",
		Parameters: []function.Parameter{function.StringParameter{
			Name:                "manifests",
			MarkdownDescription: "YAML documents, separated by `---`. Objects that belong together, such as a Provisioner and its AWSNodeTemplate, are converted together.",
		}},
		Return: function.ObjectReturn{AttributeTypes: map[string]attr.Type{
			"manifests": types.StringType, "node_pools": texts, "node_classes": texts, "environment": texts, "warnings": types.ListType{ElemType: types.StringType},
		}},
	}
}

// Run converts.
func (f *convertFunction) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error != nil {
		return
	}
	out, err := convertManifests(text)
	if err != nil {
		resp.Error = function.NewArgumentFuncError(0, err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, out)
}

// convertManifests converts a text; all errors are in one.
func convertManifests(text string) (converted, error) {
	result := legacy.Convert([]legacy.Source{{Text: text}}, legacy.Options{})
	var problems []string
	for _, p := range result.Errors {
		problems = append(problems, p.String())
	}
	if len(problems) > 0 {
		return converted{}, errors.New(strings.Join(problems, "\n"))
	}
	all, err := result.Manifests()
	if err != nil {
		return converted{}, err
	}
	if len(all) == 0 {
		return converted{}, errors.New("the text has no object of Karpenter; give the manifests of Provisioners, AWSNodeTemplates, NodePools or EC2NodeClasses")
	}
	out := converted{NodePools: map[string]string{}, NodeClasses: map[string]string{}, Environment: map[string]string{}, Warnings: []string{}}
	var texts []string
	for _, m := range all {
		texts = append(texts, m.YAML)
		switch m.Kind {
		case "NodePool":
			out.NodePools[m.Name] = m.YAML
		case "EC2NodeClass":
			out.NodeClasses[m.Name] = m.YAML
		}
	}
	out.Manifests = strings.Join(texts, "---\n")
	for name, value := range result.Environment {
		out.Environment[name] = value
	}
	for _, p := range result.Warnings {
		out.Warnings = append(out.Warnings, p.String())
	}
	return out, nil
}
