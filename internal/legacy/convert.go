package legacy

import (
	"path/filepath"

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
	// Left are the documents of folders that another program has to render first. What they have is
	// not in the output.
	Left []Problem
	// Twice are the objects of which another file has one of the same kind and name. All of them
	// are in the output, and a cluster has one of them.
	Twice []Problem
	// Others says, once for each source, what of it is not of Karpenter and not in the output.
	Others []string
	// Environment is the settings that the daemon has, as environment variables; nil if the input
	// has none.
	Environment map[string]string

	classes []*class
	pools   []*pool
	claims  []*claim
	shared  map[string]bool
	lacks   []Problem  // what resources cannot have of objects of v1
	current []document // of v1 already
	config  *configMap
}

// converter sees all objects of one conversion.
type converter struct {
	report
	options Options
	classes map[string][]*class // by name
	order   []*class
	pools   []*pool
	claims  []*claim
	claimed map[string][]*claim // by name, of any version
	current []document
	renamed map[string]string
	unread  map[string]bool // by name: objects with an error, which are not missing
	live    bool            // the objects are in a cluster: each Provisioner has a class of its own name
	served  bool            // and they are served as they are
	twice   []Problem
	shared  map[string]bool // of what one name is there twice; see shareName
	notes   []Problem
	lacks   []Problem

	// what the settings say
	hasSettings     bool
	settingsMeta    meta
	given           map[string]given // by variable or key
	profile         string
	globalTags      map[string]string
	drift, driftOff bool
}

func newConverter(options Options) *converter {
	return &converter{options: options, classes: map[string][]*class{}, shared: map[string]bool{}, claimed: map[string][]*claim{}, renamed: map[string]string{}, unread: map[string]bool{}, given: map[string]given{}}
}

// Convert converts all objects of the sources together.
func Convert(sources []Source, options Options) Result {
	c := newConverter(options)
	of := c.sort(sources)
	for _, d := range of[formatOther] { // first: the settings decide what the other objects become
		if settings, inside := c.controller(d), c.inner(d); settings || inside {
			c.took(d)
			continue
		}
		c.skip(d)
	}
	for _, kind := range []string{"ConfigMap", wire.KindMachine, wire.KindAWSNodeTemplate, wire.KindEC2NodeClass, wire.KindProvisioner, wire.KindNodePool, wire.KindNodeClaim} {
		for _, d := range of[formatLegacy] {
			if d.text("kind") == kind {
				c.read(d, c.convert)
			}
		}
		for _, d := range of[formatCurrent] {
			if d.text("kind") == kind {
				c.read(d, c.keep)
			}
		}
	}
	c.placeKubelets()
	for _, d := range of[formatOther] {
		c.workload(d)
	}
	for _, d := range of[formatNotThere] {
		c.notThere(d)
	}
	result := Result{Errors: c.errors, Warnings: c.warnings, Left: c.left, Twice: c.twice, shared: c.shared, classes: c.order, pools: c.pools, claims: c.claims, lacks: c.lacks, current: c.current}
	result.Others = c.others(sources)
	environment := c.environment()
	if c.hasSettings || len(environment) > 0 {
		result.Environment = environment
	}
	if c.hasSettings {
		result.config = &configMap{APIVersion: "v1", Kind: "ConfigMap", Metadata: c.settingsMeta, Data: environment}
	}
	return result
}

// sort reads the sources and says what each document is in. An object that is there twice,
// word for word, counts once; a pool does so once the classes are known.
func (c *converter) sort(sources []Source) map[format][]document {
	var all []document
	for _, source := range sources {
		all = append(all, documents(source, &c.report)...)
	}
	patches := patchesOf(all)
	of := map[format][]document{}
	for _, d := range all {
		f := formatOf(d, &c.report)
		by, patch := patches[filepath.Clean(d.source)]
		if f != formatOther {
			c.took(d)
		}
		if f == formatBroken {
			c.unread[d.name()] = true
		}
		switch {
		case f == formatOther: // it may be there any number of times
		case patch:
			c.warn(d.subject(), "", "is left out, as it is a patch in "+by, "convert the output of kustomize build")
			f = formatBroken
		default:
			if d.repeats(of[f]) {
				continue
			}
		}
		of[f] = append(of[f], d)
	}
	return of
}

// read reads one object, and notes if it has an error.
func (c *converter) read(d document, by func(document)) {
	for _, other := range d.before {
		if name := d.refersTo(); c.classFor(d.source, name) == c.classFor(other.source, name) {
			c.standsAgain(d, other)
			return
		}
	}
	before, classes, pools := len(c.errors), len(c.order), len(c.pools)
	by(d)
	for _, added := range c.order[classes:] {
		added.copies = d.copies
	}
	for _, added := range c.pools[pools:] {
		added.copies = d.copies
	}
	if len(c.errors) > before {
		c.unread[d.name()] = true
	}
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
