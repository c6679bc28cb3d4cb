package legacy

import (
	"fmt"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// Options are what the manifests do not say.
type Options struct {
	// InstanceProfile is for classes that name none. Role is the same for those who let
	// the controller make instance profiles; it comes first.
	InstanceProfile string
	Role            string
	// Kubernetes is the minor version of the cluster, 33 of 1.33; 0 if it is not known.
	Kubernetes int
}

// Result is what comes of a conversion. If there are errors, the rest is incomplete.
type Result struct {
	Errors   []Problem
	Warnings []Problem
	// Others names the objects that are not of Karpenter and not in the output.
	Others []string
	// Environment is the settings as environment variables; nil if the input has none.
	Environment map[string]string

	classes []*class
	pools   []*pool
	claims  []claim
	current []document // of v1 already
	config  *configMap
}

// converter sees all objects of one conversion.
type converter struct {
	report
	options Options
	classes map[string]*class
	order   []*class
	pools   []*pool
	claims  []claim
	renamed map[string]string
	live    bool // the objects are in a cluster: each Provisioner has a class of its own name
	served  bool // and they are served as they are
	notes   []Problem

	// what the settings say
	hasSettings     bool
	settingsMeta    meta
	environment     map[string]string
	profile         string
	globalTags      map[string]string
	drift, driftOff bool
}

func newConverter(options Options) *converter {
	return &converter{options: options, classes: map[string]*class{}, renamed: map[string]string{}, environment: map[string]string{}}
}

// Convert converts all objects of the sources together.
func Convert(sources []Source, options Options) Result {
	c := newConverter(options)
	var old, current, others []document
	for _, source := range sources {
		for _, d := range documents(source, &c.report) {
			switch formatOf(d, &c.report) {
			case formatLegacy:
				old = append(old, d)
			case formatCurrent:
				current = append(current, d)
			case formatOther:
				others = append(others, d)
			case formatBroken:
			}
		}
	}
	for _, kind := range []string{"ConfigMap", wire.KindMachine, wire.KindAWSNodeTemplate, wire.KindEC2NodeClass, wire.KindProvisioner, wire.KindNodePool, wire.KindNodeClaim} {
		for _, d := range old {
			if d.text("kind") == kind {
				c.convert(d)
			}
		}
		for _, d := range current {
			if d.text("kind") == kind {
				c.keep(d)
			}
		}
	}
	c.placeKubelets()
	for _, d := range others {
		c.workload(d)
		c.others = append(c.others, d.subject().where())
	}
	result := Result{Errors: c.errors, Warnings: c.warnings, Others: c.others, classes: c.order, pools: c.pools, claims: c.claims, current: current}
	if c.hasSettings {
		result.Environment = c.environment
		result.config = &configMap{APIVersion: "v1", Kind: "ConfigMap", Metadata: c.settingsMeta, Data: c.environment}
	}
	return result
}

// convert converts one object.
func (c *converter) convert(d document) {
	switch d.text("kind") {
	case "ConfigMap":
		if o, ok := decode[wire.Settings](d, &c.report); ok {
			c.globals(d, o)
		}
	case wire.KindMachine:
		c.warn(d.subject(), "", "a Machine is left out, as the controller made it for a node of the old version", "let the NodePool launch new nodes, and delete the old ones")
	case wire.KindAWSNodeTemplate:
		if o, ok := decode[wire.AWSNodeTemplate](d, &c.report); ok {
			c.addTemplate(d.subject(), "spec", c.metadata(d.subject(), o.Metadata), o.Spec)
		}
	case wire.KindEC2NodeClass:
		if o, ok := decode[wire.EC2NodeClass](d, &c.report); ok {
			c.betaClass(d, o)
		}
	case wire.KindProvisioner:
		if o, ok := decode[wire.Provisioner](d, &c.report); ok {
			c.provisioner(d, o)
		}
	case wire.KindNodePool:
		if o, ok := decode[wire.NodePool](d, &c.report); ok {
			c.betaPool(d, o)
		}
	case wire.KindNodeClaim:
		if o, ok := decode[wire.NodeClaim](d, &c.report); ok {
			c.betaClaim(d, o)
		}
	}
}

// keep notes the name of an object of v1, which stays as it is.
func (c *converter) keep(d document) {
	s, name := d.subject(), d.name()
	switch d.text("kind") {
	case wire.KindEC2NodeClass:
		c.addClass(&class{subject: s, current: true, out: nodeClass{Metadata: meta{Name: name}}})
	case wire.KindNodePool:
		for _, p := range c.pools {
			if p.out.Metadata.Name == name {
				c.fail(s, "metadata.name", fmt.Sprintf("%s would become a NodePool of the same name", p.where()), "rename one of the two")
			}
		}
	}
}
