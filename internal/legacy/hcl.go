package legacy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// poolConfig is what karpenter_node_pool has: spec and spec.template in one.
type poolConfig struct {
	Name          string                   `json:"name"`
	NodeClass     reference                `json:"nodeClass"`
	Labels        map[string]string        `json:"labels,omitempty"`
	Annotations   map[string]string        `json:"annotations,omitempty"`
	Taints        []wire.Taint             `json:"taints,omitempty"`
	StartupTaints []wire.Taint             `json:"startupTaints,omitempty"`
	Requirements  []wire.Requirement       `json:"requirements"`
	Limits        map[string]wire.Quantity `json:"limits,omitempty"`
	Weight        wire.Number              `json:"weight,omitempty"`
	ExpireAfter   string                   `json:"expireAfter"`
	Disruption    disruption               `json:"disruption"`
}

// reference is an expression that stays as it is.
type reference string

// HCL gives the objects as resources of the provider, and warnings about what has no
// place there. Templates such as ${var.name} stay templates.
func (r Result) HCL() (string, []Problem) {
	w := &hclWriter{names: map[string]string{}, snakes: map[string]string{}}
	file := hclwrite.NewEmptyFile()
	body := file.Body()
	labels := map[string]bool{}
	for _, c := range r.classes {
		if c.current {
			continue
		}
		m := c.out.Metadata
		w.names[m.Name] = unique(labels, m.Name)
		w.startBlock(body, c.subject, "karpenter_node_class", w.names[m.Name], m)
		block := body.AppendNewBlock("resource", []string{"karpenter_node_class", w.names[m.Name]}).Body()
		w.field = "metadata.name"
		block.SetAttributeRaw("name", w.text(m.Name))
		w.fields(block, c.out.Spec)
	}
	labels = map[string]bool{}
	for _, p := range r.pools {
		m, spec := p.out.Metadata, p.out.Spec
		name := unique(labels, m.Name)
		w.startBlock(body, p.subject, "karpenter_node_pool", name, m)
		block := body.AppendNewBlock("resource", []string{"karpenter_node_pool", name}).Body()
		w.fields(block, w.poolConfig(m.Name, spec))
	}
	for _, n := range r.claims {
		w.warn(n.subject, "", "is left out, as the provider has no resource for NodeClaims", "let the node pool launch nodes")
	}
	for _, d := range r.current {
		w.warn(d.subject(), "", "is left out, as it is v1 already", "write its resource, and import it by its name")
	}
	w.settings(body, r.Environment)
	return string(hclwrite.Format(file.Bytes())), w.warnings
}

// hclWriter writes values and notes what has no place.
type hclWriter struct {
	report
	names   map[string]string // of EC2NodeClasses, to the labels of their resources
	snakes  map[string]string // of fields, to names of attributes
	begun   bool              // a block is there
	subject subject
	field   string
}

// startBlock separates the blocks and says what the resource cannot have.
func (w *hclWriter) startBlock(body *hclwrite.Body, s subject, kind, name string, m meta) {
	if w.begun {
		body.AppendNewline()
	}
	w.begun = true
	w.subject = s
	if len(m.Labels)+len(m.Annotations) > 0 {
		w.warn(s, "metadata", "labels and annotations of the object itself are left out, as "+kind+"."+name+" has no attribute for them", "set them with kubectl, if something reads them")
	}
}

func (w *hclWriter) poolConfig(name string, spec nodePoolSpec) poolConfig {
	node := spec.Template.Spec
	out := poolConfig{
		Name: name, NodeClass: reference(strconv.Quote(node.NodeClassRef.Name)),
		Taints: node.Taints, StartupTaints: node.StartupTaints, Requirements: node.Requirements,
		Limits: spec.Limits, Weight: spec.Weight, ExpireAfter: node.ExpireAfter, Disruption: spec.Disruption,
	}
	if label, ok := w.names[node.NodeClassRef.Name]; ok {
		out.NodeClass = reference("karpenter_node_class." + label + ".name")
	}
	if spec.Template.Metadata != nil {
		out.Labels, out.Annotations = spec.Template.Metadata.Labels, spec.Template.Metadata.Annotations
	}
	return out
}

// settings writes the environment as comments: the daemon of the provider has
// attributes for a part of it.
func (w *hclWriter) settings(body *hclwrite.Body, environment map[string]string) {
	if len(environment) == 0 {
		return
	}
	if w.begun {
		body.AppendNewline()
	}
	lines := []string{"# Settings of karpenter-global-settings. karpenter_daemon has its own attributes for", "# the cluster and the queue, and none for the others."}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		lines = append(lines, "#   "+name+" = "+strconv.Quote(environment[name]))
	}
	body.AppendUnstructuredTokens(raw(hclsyntax.TokenComment, strings.Join(lines, "\n")+"\n"))
}

var noIdentifier = regexp.MustCompile(`[^a-zA-Z0-9_-]+`)

// unique makes a label for a resource of an object's name.
func unique(taken map[string]bool, name string) string {
	label := noIdentifier.ReplaceAllString(name, "_")
	label = strings.Trim(label, "_-")
	if label == "" || label[0] >= '0' && label[0] <= '9' {
		label = strings.TrimSuffix("n_"+label, "_")
	}
	found := label
	for i := 2; taken[found]; i++ {
		found = fmt.Sprintf("%s_%d", label, i)
	}
	taken[found] = true
	return found
}
