package legacy

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

const (
	// minorWithoutAL2 is the first minor version of Kubernetes for which EKS publishes no
	// image of Amazon Linux 2.
	minorWithoutAL2 = 33
	// calm is how long the controller of v1alpha5 left nodes alone after pods had come or
	// gone, before it consolidated.
	calm = "15s"
)

// Live is a Provisioner as a cluster has it, with what it refers to. Each member is an
// object in JSON; "" is none.
type Live struct {
	Provisioner string
	Template    string // the AWSNodeTemplate that spec.providerRef names
	Settings    string // the ConfigMap karpenter-global-settings
}

// Served is what a daemon does for a Provisioner: a NodePool and an EC2NodeClass of its
// own, both of its name. They are not what a conversion writes: keys of the user in domains
// where v1 allows none stay as they are, so that pods find them, and so does
// karpenter.sh/provisioner-name. An API server would refuse such objects.
type Served struct {
	Pool  *v1.NodePool
	Class *awsv1.EC2NodeClass
	// Errors say why the Provisioner cannot be served: Pool and Class are nil then.
	Errors []Problem
	// Notes say what is served otherwise than the objects say.
	Notes []Problem
	// Migrated is the Provisioner as manifests of v1; "" where MigrateErrors say why not.
	Migrated      string
	MigrateErrors []Problem
}

// CheckSettings says what of the ConfigMap karpenter-global-settings, in JSON, a daemon
// cannot read or does not carry out, and which settings it has otherwise: it takes them from
// its own environment. The rest counts.
func CheckSettings(text string, environment func(variable string) string) []Problem {
	read := newLive(Live{Settings: text}, 0, true)
	_, problems := apart(slices.Concat(read.errors, read.warnings))
	problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Object == "" || p.Field == "" })
	for _, known := range Settings() {
		asked, given := read.given[known.Variable]
		if has := cmp.Or(environment(known.Variable), known.Default); given && has != asked.value {
			problems = append(problems, Problem{
				Object: asked.object, Field: asked.at, Lost: true, What: fmt.Sprintf("is %q, and the daemon has %q, which counts", asked.value, has),
				Remedy: "set " + known.Here + " of karpenter_daemon, or the value of its chart, if the daemon is to have it, too",
			})
		}
	}
	return problems
}

// lost are the warnings about what the objects ask for and nothing does.
func lost(warnings []Problem) []Problem {
	objects, _ := apart(warnings)
	return slices.DeleteFunc(objects, func(w Problem) bool { return !w.Lost })
}

// Serve reads a Provisioner for a daemon of a cluster with this minor version of
// Kubernetes, 33 of 1.33.
func Serve(live Live, kubernetes int) Served {
	serving := newLive(live, kubernetes, true)
	converted := newLive(live, kubernetes, false)
	out := Served{Notes: append(serving.notes, lost(serving.warnings)...)}
	out.Errors, _ = apart(serving.errors)
	out.MigrateErrors, _ = apart(converted.errors)
	if len(out.Errors) == 0 && len(serving.pools) == 1 && len(serving.order) == 1 {
		out.Pool, out.Class = &v1.NodePool{}, &awsv1.EC2NodeClass{}
		for from, to := range map[any]any{&serving.pools[0].out: out.Pool, &serving.order[0].out: out.Class} {
			if err := into(from, to); err != nil {
				s := serving.pools[0].subject
				out.Errors = append(out.Errors, Problem{Object: s.object, What: "cannot be read: " + err.Error(), Remedy: "correct the value"})
				out.Pool, out.Class = nil, nil
				return out
			}
		}
	}
	if len(out.MigrateErrors) == 0 {
		text, err := Result{classes: converted.order, pools: converted.pools}.YAML()
		if err != nil {
			out.MigrateErrors = []Problem{{What: err.Error()}}
		}
		out.Migrated = text
	}
	return out
}

// newLive converts the Provisioner and its template to objects of its own name. served
// leaves keys as they are.
func newLive(live Live, kubernetes int, served bool) *converter {
	c := newConverter(Options{Kubernetes: kubernetes})
	c.live = true
	c.served = served
	for _, d := range liveDocuments(live.Settings, &c.report) {
		c.convert(d)
	}
	for _, d := range liveDocuments(live.Provisioner, &c.report) {
		p, ok := decode[wire.Provisioner](d, &c.report)
		if !ok {
			continue
		}
		if ref := p.Spec.ProviderRef; ref != nil && ref.Name != "" && p.Spec.Provider == nil {
			c.liveTemplate(d, p, live.Template)
		}
		c.provisioner(d, p)
		if len(c.order) > 0 { // else an error says why there is no class
			c.placeKubelets()
		}
		if served && len(c.pools) == 1 && len(c.order) == 1 {
			c.serve(&c.pools[0].out, &c.order[0].out)
		}
	}
	return c
}

// liveDocuments reads an object of a cluster.
func liveDocuments(text string, r *report) []document {
	all := documents(Source{Text: text}, r)
	for i := range all {
		all[i].live = true
	}
	return all
}

// liveTemplate makes the class of the template, with the name of the Provisioner.
func (c *converter) liveTemplate(d document, p wire.Provisioner, template string) {
	if template == "" {
		c.fail(d.subject(), "spec.providerRef.name", fmt.Sprintf("AWSNodeTemplate %q does not exist", p.Spec.ProviderRef.Name), "create it, or correct the name")
		return
	}
	for _, t := range liveDocuments(template, &c.report) {
		if o, ok := decode[wire.AWSNodeTemplate](t, &c.report); ok {
			c.addTemplate(t.subject(), "spec", meta{Name: p.Metadata.Name}, o.Spec)
		}
	}
}

// serve makes of a converted pool and class what the controller of v1alpha5 did with them:
// bills are read by the tag.
func (c *converter) serve(p *nodePool, cl *nodeClass) {
	if cl.Spec.Tags == nil {
		cl.Spec.Tags = map[string]string{}
	}
	cl.Spec.Tags[keyProvisioner] = p.Metadata.Name
	template := &p.Spec.Template
	if template.Metadata == nil {
		template.Metadata = &wire.TemplateMeta{}
	}
	if template.Metadata.Labels == nil {
		template.Metadata.Labels = map[string]string{}
	}
	template.Metadata.Labels[keyProvisioner] = p.Metadata.Name
	if p.Spec.Disruption.ConsolidationPolicy == whenUnderutilized {
		p.Spec.Disruption.ConsolidateAfter = calm
	}
}

// into copies an object of the output to a type that has the same fields on the wire.
func into(from, to any) error {
	data, err := yaml.Marshal(from)
	if err != nil {
		return fmt.Errorf("object write: %w", err)
	}
	if data, err = yaml.YAMLToJSON(data); err != nil {
		return fmt.Errorf("object write: %w", err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("object read: %w", err)
	}
	return nil
}

// apart parts the problems of objects from those of the settings: a setting that nobody
// knows must not stop a Provisioner.
func apart(all []Problem) (objects, settings []Problem) {
	for _, p := range all {
		if strings.HasPrefix(p.Object, "ConfigMap ") {
			settings = append(settings, p)
			continue
		}
		objects = append(objects, p)
	}
	return objects, settings
}

// note says what is served otherwise.
func (c *converter) note(s subject, field, what, remedy string) {
	c.notes = append(c.notes, Problem{Source: s.source, Object: s.object, Field: field, What: what, Remedy: remedy})
}

// callsBootstrap finds a line of a script that speaks of the script by which instances of
// Amazon Linux 2 join.
var callsBootstrap = regexp.MustCompile(`(?m)^[^#\n]*bootstrap\.sh`)

// scriptsIn are the texts that user data may be: the whole, and the parts of MIME text that
// are in base64.
func scriptsIn(userData string) []string {
	out := []string{userData}
	message, err := mail.ReadMessage(strings.NewReader(strings.TrimLeft(userData, " \t\r\n")))
	if err != nil {
		return out
	}
	kind, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return out
	}
	for reader := multipart.NewReader(message.Body, params["boundary"]); ; {
		part, err := reader.NextRawPart()
		if err != nil {
			return out
		}
		if !strings.EqualFold(part.Header.Get("Content-Transfer-Encoding"), "base64") {
			continue
		}
		if text, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, part)); err == nil {
			out = append(out, string(text))
		}
	}
}

// withoutAL2 makes a class of Amazon Linux 2 one of Amazon Linux 2023, where Kubernetes has
// no image of the former. Text that is no MIME text is a shell script for both, and a part
// of the MIME text that an instance gets.
func (c *converter) withoutAL2(s subject, base string, out *nodeClassSpec) {
	out.AMISelectorTerms = []imageTerm{{Alias: "al2023@latest"}}
	version := fmt.Sprintf("1.%d", c.options.Kubernetes)
	if slices.ContainsFunc(scriptsIn(out.UserData), callsBootstrap.MatchString) {
		c.fail(s, base+".userData", "calls bootstrap.sh, which only images of Amazon Linux 2 have, and Kubernetes "+version+" has no such images",
			"remove the call: the node joins without it; write settings of the kubelet in kubeletConfiguration of the Provisioner")
		return
	}
	what := "AL2 has no image for Kubernetes " + version + ", so nodes run al2023@latest"
	if out.UserData != "" {
		what += ", with userData as shell parts of the MIME text that they get"
	}
	c.note(s, base+".amiFamily", what, "see that userData suits Amazon Linux 2023, or select images of your own with amiSelector")
	c.warn(s, base+".amiFamily", what, "see that userData suits Amazon Linux 2023, and name a release in place of latest")
}

// remedy returns the remedy for somebody whose objects are in a cluster.
func (c *converter) remedy(converting, live string) string {
	if c.live {
		return live
	}
	return converting
}

// ownKey says whether a restricted key stays as it is, as it does where a Provisioner is
// served.
func (c *converter) ownKey(s subject, field, key string) (stays bool) {
	if !c.served {
		return false
	}
	if domain, _, _ := strings.Cut(key, "/"); domain == wire.AWSGroup {
		c.fail(s, field, key+" is a key of your own in a domain whose labels follow from instance types", "choose a domain of your own, here and in the pods that select the key")
	}
	return true
}

// TemplateOf names the AWSNodeTemplate that a Provisioner refers to; "" for none.
func TemplateOf(provisioner map[string]any) string {
	spec, _ := provisioner["spec"].(map[string]any)
	ref, _ := spec["providerRef"].(map[string]any)
	name, _ := ref["name"].(string)
	return name
}

// Sentences writes problems as one text, a sentence each.
func Sentences(all []Problem) string {
	var texts []string
	for _, p := range all {
		if text := p.String(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ". ")
}
