package legacy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// environmentName is the ConfigMap that the settings become.
const environmentName = "karpenter-environment"

// globals reads the settings; they decide what the other objects become.
func (c *converter) globals(d document, old wire.Settings) {
	s := d.subject()
	if c.hasSettings {
		c.fail(s, "metadata.name", "karpenter-global-settings is in the input twice", "remove one of the two, or convert the objects of each cluster by themselves")
		return
	}
	if whollyOf(old.Data) {
		c.fail(s, "data", "a template for all of it", "write each setting with a template of its own")
		return
	}
	c.hasSettings = true
	o := c.origin(s)
	o.all = old.Data
	for _, key := range slices.Sorted(maps.Keys(old.Data)) {
		value, at := old.Data[key], fmt.Sprintf("data[%s]", key)
		if i := slices.IndexFunc(Settings(), func(known Setting) bool { return known.Global == key }); i >= 0 {
			o.set(at, Settings()[i], value)
			continue
		}
		o.setOther(at, key, value)
	}
	o.done()
	c.settingsMeta = meta{Name: environmentName, Namespace: old.Metadata.Namespace, Labels: old.Metadata.Labels}
}

// nobodyCarriesOut says whether the object is one of Karpenter's that the daemon does not carry
// out.
func (d document) nobodyCarriesOut() (Uncarried, bool) {
	group, _, _ := strings.Cut(d.text("apiVersion"), "/")
	for _, u := range UncarriedKinds() {
		if group == u.Group && d.text("kind") == u.Kind {
			return u, true
		}
	}
	return Uncarried{}, false
}

// notThere warns of an object that the daemon does not carry out.
func (c *converter) notThere(d document) {
	u, _ := d.nobodyCarriesOut()
	c.lose(d.subject(), "", "is left out, as the daemon does not carry it out: "+u.Effect, u.Remedy)
}
