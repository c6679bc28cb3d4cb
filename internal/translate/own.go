package translate

import (
	"maps"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// The daemon believes what it finds under keys of its own domain on NodeClaims and Nodes:
// the request of a launch, an interruption, which nodes are replaced. So the template of a
// NodePool must not bring such keys there. None of them means anything in a template.

// usersKeys returns labels or annotations without those of the daemon's own domain.
func usersKeys(all map[string]string) map[string]string {
	if len(ownKeysOf(all)) == 0 {
		return all
	}
	out := maps.Clone(all)
	maps.DeleteFunc(out, func(key, _ string) bool { return v1.IsOwn(key) })
	return out
}

// notes are the annotations by which the daemon and Karpenter note on a NodeClaim what has
// become of it: when its drain ends whatever budgets say, what it was launched by, what it
// holds, and that its instance is tagged. Each is about one NodeClaim, so a template must not
// bring them either.
func notes() []string {
	return []string{
		v1.AnnotationTerminationTimestamp, v1.AnnotationMinValuesRelaxed, v1.AnnotationNodePoolHash, v1.AnnotationNodePoolHashVersion,
		awsv1.AnnotationNodeClassHash, awsv1.AnnotationNodeClassHashVersion, awsv1.AnnotationInstanceProfile,
		awsv1.AnnotationTagged, awsv1.AnnotationClusterNameTagged,
	}
}

// usersAnnotations returns annotations of a template without those that the daemon would
// believe on a NodeClaim.
func usersAnnotations(all map[string]string) map[string]string {
	out := maps.Clone(usersKeys(all))
	for _, key := range notes() {
		delete(out, key)
	}
	return out
}

// notesOf returns the keys of notes among the annotations, sorted.
func notesOf(all map[string]string) (out []string) {
	for _, key := range notes() {
		if _, there := all[key]; there {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// usersTaints returns a copy of the taints without those that the daemon puts on nodes and
// takes off again; nil if there are none.
func usersTaints(all []v1.Taint) []v1.Taint {
	return slices.DeleteFunc(slices.Clone(all), ofDaemon)
}

// ofDaemon says whether the taint is one by which the daemon, or Karpenter, marks a node: those
// of the daemon's own domain, that of nodes that have not registered, and that of nodes that are
// about to be deleted. A node that had it from its pool would never take a pod.
func ofDaemon(t v1.Taint) bool {
	return v1.IsOwn(t.Key) || t.Key == v1.TaintUnregistered || t.Key == v1.TaintDisrupted
}

// usersRequirements returns a copy of the requirements without those on labels of the daemon's
// own domain: a node gets the label that its pool requires.
func usersRequirements(all []v1.Requirement) []v1.Requirement {
	return slices.DeleteFunc(slices.Clone(all), func(r v1.Requirement) bool { return v1.IsOwn(r.Key) })
}

// ownKeysOf returns the keys of the daemon's own domain, sorted.
func ownKeysOf(all map[string]string) (out []string) {
	for key := range all {
		if v1.IsOwn(key) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

// RemarkReserved is the reason of a remark about keys that a template must not have.
const RemarkReserved = "ReservedKeys"

// RemarkUnread is the reason of a remark about an object that cannot be read.
const RemarkUnread = "Unreadable"

// PoolRemarks returns what is wrong with the template of the NodePool.
func PoolRemarks(p *v1.NodePool) []Remark {
	out := Unread(p.Unread, v1.NodePoolKind, p.Name)
	var found []string
	t := &p.Spec.Template
	note := func(where string, keys []string) {
		for _, key := range keys {
			found = append(found, where+" "+key)
		}
	}
	note("label", ownKeysOf(t.ObjectMeta.Labels))
	note("annotation", ownKeysOf(t.ObjectMeta.Annotations))
	note("annotation", notesOf(t.ObjectMeta.Annotations))
	for _, list := range [][]v1.Taint{t.Spec.Taints, t.Spec.StartupTaints} {
		for _, x := range list {
			if ofDaemon(x) {
				note("taint", []string{x.Key})
			}
		}
	}
	for _, r := range t.Spec.Requirements {
		if v1.IsOwn(r.Key) {
			note("requirement", []string{r.Key})
		}
	}
	if len(found) > 0 {
		out = append(out, Remark{RemarkReserved, "The template has " + strings.Join(found, ", ") + ". Keys of " + v1.OwnDomain +
			", and those by which Karpenter notes the state of a NodeClaim or a node, are the daemon's own, so new nodes do not get them: remove them from the template, or choose keys of another domain. Annotations for pods belong on the pods, and those for the NodePool on the NodePool itself."})
	}
	return out
}

// Unread returns the remark about an object that cannot be read; none about others.
func Unread(u v1.Unread, kind, name string) []Remark {
	if u == "" {
		return nil
	}
	return []Remark{{RemarkUnread, u.Explain(kind, name)}}
}
