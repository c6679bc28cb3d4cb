package legacy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
)

// format is what a document is in.
type format int

const (
	formatOther    format = iota // not of Karpenter
	formatBroken                 // an error says why
	formatCurrent                // v1 already
	formatLegacy                 // the type of its kind in package api/legacy
	formatNotThere               // of Karpenter, and nothing here carries it out
)

// versionsOf lists the apiVersions of a kind, the one to convert first, and then v1.
func versionsOf(kind string) []string {
	switch kind {
	case wire.KindProvisioner, wire.KindMachine:
		return []string{wire.VersionProvisioner}
	case wire.KindAWSNodeTemplate:
		return []string{wire.VersionAWSNodeTemplate}
	case wire.KindNodePool, wire.KindNodeClaim:
		return []string{wire.VersionNodePool, wire.CoreGroup + "/v1"}
	case wire.KindEC2NodeClass:
		return []string{wire.VersionEC2NodeClass, wire.AWSGroup + "/v1"}
	}
	return nil
}

func kinds() []string {
	return []string{wire.KindProvisioner, wire.KindMachine, wire.KindAWSNodeTemplate, wire.KindNodePool, wire.KindNodeClaim, wire.KindEC2NodeClass}
}

// formatOf says what a document is in, and reports types that are written wrongly.
func formatOf(d document, r *report) format {
	version, kind := d.text("apiVersion"), d.text("kind")
	group, _, _ := strings.Cut(version, "/")
	ours := strings.Contains(group, "karpenter")
	exactly := group == wire.CoreGroup || group == wire.AWSGroup
	if kind == "ConfigMap" && strings.HasSuffix(d.name(), wire.SettingsName) {
		return formatLegacy
	}
	known := slices.Contains(kinds(), kind)
	if _, none := d.nobodyCarriesOut(); none {
		return formatNotThere
	}
	switch {
	case kind == "" || version == "":
		return d.untyped(known, r)
	case !known && !exactly:
		return formatOther // also what other clouds have under names of their own, such as AKSNodeClass
	case !known:
		for _, k := range kinds() {
			if strings.EqualFold(k, kind) || distance(k, kind) <= 2 {
				r.fail(d.subject(), "kind", "no kind of Karpenter", "write kind: "+k)
				return formatBroken
			}
		}
		return formatOther // a kind of v1 that has no older form, such as NodeOverlay
	}
	versions := versionsOf(kind)
	if i := slices.Index(versions, version); i >= 0 {
		if i > 0 {
			return formatCurrent
		}
		return formatLegacy
	}
	if !ours && strings.Contains(version, "/") {
		return formatOther // another project's kind of the same name
	}
	what, remedy := wrongVersion(version, group, versions)
	r.fail(d.subject(), "apiVersion", what, remedy)
	return formatBroken
}

// wrongVersion says what is wrong with an apiVersion that its kind does not have.
func wrongVersion(version, group string, versions []string) (what, remedy string) {
	_, right, _ := strings.Cut(versions[0], "/")
	rightGroup, _, _ := strings.Cut(versions[0], "/")
	name := version[strings.LastIndex(version, "/")+1:]
	write := "write apiVersion: " + strings.Join(versions, " or ")
	switch {
	case !strings.Contains(version, "/"):
		return fmt.Sprintf("%s lacks the group of the API", version), write
	case strings.HasPrefix(strings.TrimPrefix(name, "v"), "0."):
		return fmt.Sprintf("%s is a release of Karpenter, not a version of its API", name), write
	case group != rightGroup && name == right:
		return fmt.Sprintf("the group of this kind is %s, not %s", rightGroup, group), write
	case group == rightGroup && (name == "v1alpha1" || name == "v1alpha2" || name == "v1alpha3" || name == "v1alpha4"):
		return name + " is older than what can be converted", "bring the manifest to " + right + " first: in spec, constraints on nodes are requirements, and settings of AWS are under provider"
	}
	return fmt.Sprintf("%s is no version of this kind", version), write
}

// untyped handles a document without apiVersion or kind.
func (d document) untyped(known bool, r *report) format {
	kind, version := d.text("kind"), d.text("apiVersion")
	if !known && !d.namesGroup() {
		return formatOther // such as values of Helm, Chart.yaml, CloudFormation or a policy
	}
	for _, key := range slices.Sorted(maps.Keys(d.body)) {
		lower := strings.ToLower(key)
		if version == "" && key != "apiVersion" && slices.Contains([]string{"apiversion", "apiversions", "revision", "version"}, lower) {
			remedy := "write apiVersion and the version of the API"
			if known {
				remedy = "write apiVersion: " + versionsOf(kind)[0]
			}
			r.fail(d.subject(), key, "stands in place of apiVersion", remedy)
			return formatBroken
		}
		if kind == "" && key != "kind" && lower == "kind" {
			r.fail(d.subject(), key, "no such field, as letters must match in case", "write kind")
			return formatBroken
		}
	}
	switch {
	case version == "" && known:
		r.fail(d.subject(), "apiVersion", "missing", "write apiVersion: "+versionsOf(kind)[0])
	case version == "":
		r.fail(d.subject(), "apiVersion", "missing", "write the apiVersion of the object")
	default:
		r.fail(d.subject(), "kind", "missing", "write the kind of the object, such as kind: Provisioner")
	}
	return formatBroken
}

// namesGroup says whether a field of the object has a group of Karpenter where a manifest has
// its apiVersion.
func (d document) namesGroup() bool {
	for _, value := range d.body {
		text, _ := value.(string)
		if strings.HasPrefix(text, wire.CoreGroup+"/") || strings.HasPrefix(text, wire.AWSGroup+"/") {
			return true
		}
	}
	return false
}
