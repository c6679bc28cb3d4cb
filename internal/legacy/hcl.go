package legacy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// poolConfig is what karpenter_node_pool has: spec and spec.template in one.
type poolConfig struct {
	NodeClass     reference                `json:"nodeClass"`
	Labels        map[string]string        `json:"labels,omitempty"`
	Annotations   map[string]string        `json:"annotations,omitempty"`
	Taints        []wire.Taint             `json:"taints,omitempty"`
	StartupTaints []wire.Taint             `json:"startupTaints,omitempty"`
	Requirements  []wire.Requirement       `json:"requirements"`
	Limits        map[string]wire.Quantity `json:"limits,omitempty"`
	Weight        wire.Number              `json:"weight,omitempty"`
	Replicas      wire.Number              `json:"replicas,omitempty"`
	ExpireAfter   string                   `json:"expireAfter,omitempty"`
	GracePeriod   string                   `json:"terminationGracePeriod,omitempty"`
	Disruption    disruption               `json:"disruption,omitempty"`
}

// reference is an expression that stays as it is.
type reference string

// HCL gives the objects as resources of the provider, and warnings about what has no
// place there. Templates such as ${var.name} stay templates. An object that the API of v1
// has under the same name gets an import block. daemon is an expression for the daemon's id,
// such as karpenter_daemon.this.id; "" makes it a variable.
func (r Result) HCL(daemon string) (string, []Problem) {
	w := &hclWriter{labels: map[*class]string{}, imported: map[string]bool{}, origin: r.origin, variables: map[string]string{}, daemon: reference(cmp.Or(daemon, "var."+daemonVariable))}
	w.warnings = slices.Clone(r.lacks)
	file := hclwrite.NewEmptyFile()
	body := file.Body()
	labels := map[string]bool{}
	for _, c := range r.classes {
		if field, what, remedy := c.noResource(); what != "" {
			w.warn(c.subject, field, what, remedy)
			continue
		}
		w.labels[c] = unique(labels, c.out.Metadata.Name)
		w.class(body, c)
		if daemon == "" {
			w.variables[daemonVariable] = ""
		}
	}
	labels = map[string]bool{}
	for _, p := range r.pools {
		if field, what, remedy := p.noResource(); what != "" {
			w.warn(p.subject, field, what, remedy)
			continue
		}
		w.pool(body, p, unique(labels, p.out.Metadata.Name))
	}
	for _, n := range r.claims {
		w.warn(n.subject, "", "is left out, as the provider has no resource for NodeClaims", "let the node pool launch nodes")
	}
	w.settings(body, r.Environment)
	return string(hclwrite.Format(append(w.declared(), file.Bytes()...))), w.warnings
}

// class writes an EC2NodeClass.
func (w *hclWriter) class(body *hclwrite.Body, c *class) {
	m := c.out.Metadata
	block := w.startBlock(body, c, "karpenter_node_class", w.labels[c], m, !c.copied && !c.fromAlpha())
	block.SetAttributeRaw("daemon", raw(hclsyntax.TokenIdent, string(w.daemon)))
	if c.current != nil {
		w.fields(block, *c.current)
		return
	}
	w.fields(block, c.out.Spec)
}

// pool writes a NodePool.
func (w *hclWriter) pool(body *hclwrite.Body, p *pool, label string) {
	m := p.out.Metadata
	block := w.startBlock(body, p, "karpenter_node_pool", label, m, !p.fromAlpha())
	w.fields(block, w.poolConfig(p))
}

// hclWriter writes values and notes what has no place.
type hclWriter struct {
	report
	labels   map[*class]string // of the resources of EC2NodeClasses
	imported map[string]bool   // addresses in the API, each of which one resource has
	origin   func(kind, name, source string, copies []string) string
	begun    bool // a block is there
	subject  subject
	field    string
	daemon   reference
	// variables are those that the configuration declares, with their names in the manifests.
	variables map[string]string
}

// daemonVariable is the variable in the place of the daemon's id.
const daemonVariable = "karpenter_daemon"

// declared writes the variables.
func (w *hclWriter) declared() []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(w.variables)) {
		if name == daemonVariable {
			fmt.Fprintf(&b, `# It only sets the order: the daemon has to be there until the node classes are gone. Where this
# configuration has the daemon, write karpenter_daemon.<name>.id in place of var.%s.
variable %q {
  type    = string
  default = null
}

`, daemonVariable, daemonVariable)
			continue
		}
		fmt.Fprintf(&b, `# From ${%s} in the manifests.
variable %q {}

`, w.variables[name], name)
	}
	return []byte(b.String())
}

// startBlock begins a resource, with an import block where the object may exist, and with the
// labels and annotations of the object itself.
func (w *hclWriter) startBlock(body *hclwrite.Body, object placed, kind, label string, m meta, imported bool) *hclwrite.Body {
	if w.begun {
		body.AppendNewline()
	}
	w.begun = true
	s, copies := object.in()
	w.subject = s
	w.field = "metadata.name"
	ofKind := map[string]string{"karpenter_node_class": wire.KindEC2NodeClass, "karpenter_node_pool": wire.KindNodePool}[kind]
	if from := w.origin(ofKind, m.Name, s.source, copies); from != "" {
		body.AppendUnstructuredTokens(raw(hclsyntax.TokenComment, from))
	}
	if address := shareName(ofKind, m.Name); imported && !w.imported[address] {
		w.imported[address] = true
		block := body.AppendNewBlock("import", nil).Body()
		block.SetAttributeRaw("to", raw(hclsyntax.TokenIdent, kind+"."+label))
		block.SetAttributeRaw("id", w.text(m.Name))
		body.AppendNewline()
	}
	block := body.AppendNewBlock("resource", []string{kind, label}).Body()
	block.SetAttributeRaw("name", w.text(m.Name))
	labels, annotations := maps.Clone(m.Labels), maps.Clone(m.Annotations)
	maps.DeleteFunc(labels, func(key, _ string) bool { return v1.IsOwn(key) }) // the provider's
	if kind == "karpenter_node_class" {
		delete(annotations, v1.AnnotationPauseDisruption) // it says nothing there
	}
	w.withoutMarks("labels", labels)
	w.withoutMarks("annotations", annotations)
	w.ofObject(block, "labels", labels)
	w.ofObject(block, "annotations", annotations)
	return block
}

// withoutMarks takes out the marks of other tools: with them, such a tool would go on taking the
// object for its own, and Terraform would put them back after it has let go.
func (w *hclWriter) withoutMarks(name string, values map[string]string) {
	var marks []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if ownership(key) {
			marks = append(marks, key)
			delete(values, key)
		}
	}
	if len(marks) > 0 {
		w.warn(w.subject, "metadata."+name, "left out are the marks of another tool that manages the object: "+strings.Join(marks, ", "), "take the object out of that tool, so that not both write it")
	}
}

// ofObject writes labels or annotations of the object itself.
func (w *hclWriter) ofObject(block *hclwrite.Body, name string, values map[string]string) {
	w.field = "metadata." + name
	if len(values) > 0 {
		block.SetAttributeRaw("object_"+name, w.entries(reflect.ValueOf(values)))
	}
}

// fromAlpha says whether the object is of an API whose objects have other names in a cluster:
// a Provisioner is no NodePool.
func (s subject) fromAlpha() bool {
	return strings.HasPrefix(s.object, wire.KindProvisioner+" ") || strings.HasPrefix(s.object, wire.KindAWSNodeTemplate+" ")
}

func (w *hclWriter) poolConfig(p *pool) poolConfig {
	spec := p.out.Spec
	node := spec.Template.Spec
	out := poolConfig{
		NodeClass: w.classNamed(p.class, node.NodeClassRef.Name),
		Taints:    node.Taints, StartupTaints: node.StartupTaints, Requirements: node.Requirements,
		Limits: spec.Limits, Weight: spec.Weight, Replicas: spec.Replicas, ExpireAfter: node.ExpireAfter, GracePeriod: node.GracePeriod, Disruption: spec.Disruption,
	}
	if spec.Template.Metadata != nil {
		out.Labels, out.Annotations = spec.Template.Metadata.Labels, spec.Template.Metadata.Annotations
	}
	return out
}

// classNamed refers to a class of the configuration, or else names one that exists.
func (w *hclWriter) classNamed(c *class, name string) reference {
	if label, ok := w.labels[c]; ok {
		return reference("karpenter_node_class." + label + ".name")
	}
	w.field = "spec.template.spec.nodeClassRef.name"
	return reference(w.text(name).Bytes())
}

// settings writes what the daemon has of the settings as comments: karpenter_daemon is in the
// user's own configuration, with attributes that no setting has.
func (w *hclWriter) settings(body *hclwrite.Body, environment map[string]string) {
	lines := []string{"# Settings of Karpenter's controller, for karpenter_daemon."}
	for _, known := range Settings() {
		value, ok := environment[known.Variable]
		if !ok || strings.Contains(known.Here, ".") { // a value of the chart alone
			continue
		}
		lines = append(lines, "#   "+known.Here+" = "+strconv.Quote(value))
	}
	if len(lines) == 1 {
		return
	}
	if w.begun {
		body.AppendNewline()
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
