package translate

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// NodeClaim writes a launch as the NodeClaim that asks for it. The launch's
// instance types, zones, capacity type and reservation replace the pool's
// requirements on these labels, as do the values that it chose for labels which the
// pool leaves open. Their minValues stay as far as the launch meets them. All other
// requirements stay as they are. Keys of the daemon's own domain in the template, and notes
// about a NodeClaim, are left out. Annotations are added to those
// of the pool's template: whether minValues was relaxed, the pods that the launch
// is for, and the nodes that it replaces.
func NodeClaim(l plan.Launch, pool *v1.NodePool, startup corev1.Taint) *v1.NodeClaim {
	types := make([]string, len(l.Types))
	for i, c := range l.Types {
		types[i] = c.Type
	}
	slices.Sort(types)
	decided := []v1.Requirement{
		{Key: label.InstanceType, Operator: corev1.NodeSelectorOpIn, Values: types},
		{Key: label.Zone, Operator: corev1.NodeSelectorOpIn, Values: l.Zones},
		{Key: label.CapacityType, Operator: corev1.NodeSelectorOpIn, Values: []string{l.CapacityType}},
		{Key: v1.LabelNodePool, Operator: corev1.NodeSelectorOpIn, Values: []string{l.Pool}},
	}
	if l.Reservation != "" {
		decided = append(decided, v1.Requirement{Key: label.Reservation, Operator: corev1.NodeSelectorOpIn, Values: []string{l.Reservation}})
	}
	users := usersRequirements(pool.Spec.Template.Spec.Requirements)
	for _, r := range users {
		key := label.Canonical(r.Key)
		_, fixed := pool.Spec.Template.ObjectMeta.Labels[key]
		value, chosen := l.Labels.Get(key)
		if chosen && !fixed && !restricted(r.Key) && !label.OfInstance(key) && !slices.ContainsFunc(decided, func(d v1.Requirement) bool { return d.Key == key }) {
			decided = append(decided, v1.Requirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
		}
	}
	for _, m := range minValues(users) {
		if i := slices.IndexFunc(decided, func(d v1.Requirement) bool { return d.Key == m.Key }); i >= 0 {
			n := min(m.Count, len(decided[i].Values)) // the API server refuses more than there are values
			decided[i].MinValues = &n
		}
	}
	annotations := map[string]string{}
	maps.Copy(annotations, usersAnnotations(pool.Spec.Template.ObjectMeta.Annotations))
	annotations[v1.AnnotationMinValuesRelaxed] = strconv.FormatBool(l.MinValuesRelaxed)
	annotations[v1.AnnotationPlanned] = formatPlanned(l.Planned)
	if l.Move != nil {
		annotations[v1.AnnotationMove] = FormatMove(*l.Move)
	}
	reqs := slices.Clone(decided)
	for _, r := range users {
		if !restricted(r.Key) && !slices.ContainsFunc(decided, func(d v1.Requirement) bool { return d.Key == label.Canonical(r.Key) }) {
			reqs = append(reqs, r)
		}
	}
	return &v1.NodeClaim{
		TypeMeta: metav1.TypeMeta{APIVersion: v1.Group + "/" + v1.Version, Kind: v1.NodeClaimKind},
		ObjectMeta: metav1.ObjectMeta{
			Name: l.Name, Labels: l.Labels.Map(), Annotations: annotations,
			Finalizers: []string{v1.FinalizerTermination}, OwnerReferences: owners(pool),
		},
		Spec: v1.NodeClaimSpec{
			NodeSpec: v1.NodeSpec{
				Taints:                 usersTaints(pool.Spec.Template.Spec.Taints),
				StartupTaints:          append(usersTaints(pool.Spec.Template.Spec.StartupTaints), v1.Taint(startup)),
				Requirements:           reqs,
				NodeClassRef:           v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: l.Class},
				TerminationGracePeriod: pool.Spec.Template.Spec.TerminationGracePeriod,
				ExpireAfter:            pool.Spec.Template.Spec.ExpireAfter,
			},
			Resources: v1.ResourceRequirements{Requests: ResourceList(l.Content)},
		},
	}
}

// AskedReservationType adds the type of the capacity reservation to the requirements of a
// NodeClaim that is launched in one, where one of the pods that it is for asks for the type, as
// Karpenter does. Where nobody asks, it says nothing: definitions that are older than the label
// refuse it.
func AskedReservationType(claim *v1.NodeClaim, pods iter.Seq[*corev1.Pod]) {
	has := func(key string) bool {
		return slices.ContainsFunc(claim.Spec.Requirements, func(r v1.Requirement) bool { return label.Canonical(r.Key) == key })
	}
	if !has(label.Reservation) || has(label.ReservationType) {
		return
	}
	for p := range pods {
		if asksFor(p, label.ReservationType) {
			claim.Spec.Requirements = append(claim.Spec.Requirements, v1.Requirement{
				Key: label.ReservationType, Operator: corev1.NodeSelectorOpIn, Values: []string{awsv1.ReservationDefault}, // no other is launched into
			})
			return
		}
	}
}

// asksFor says whether the pod requires something of the label of its node.
func asksFor(p *corev1.Pod, key string) bool {
	if _, selects := p.Spec.NodeSelector[key]; selects {
		return true
	}
	if p.Spec.Affinity == nil || p.Spec.Affinity.NodeAffinity == nil || p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	return slices.ContainsFunc(p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		return slices.ContainsFunc(t.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool { return r.Key == key })
	})
}

// owners is the NodePool, as Karpenter has it. A NodeClaim of a Provisioner has no owner:
// its user deletes the Provisioner once a NodePool of the same name has taken the nodes
// over, and the garbage collector would take them all.
func owners(pool *v1.NodePool) []metav1.OwnerReference {
	if FromProvisioner(pool) {
		return nil
	}
	block := true
	return []metav1.OwnerReference{{
		APIVersion: v1.Group + "/" + v1.Version, Kind: v1.NodePoolKind, Name: pool.Name, UID: pool.UID, BlockOwnerDeletion: &block,
	}}
}

func formatPlanned(slots []cluster.Slot) string {
	parts := make([]string, len(slots))
	for i, x := range slots {
		parts[i] = x.Kind + "=" + strconv.FormatInt(x.Count, 10)
	}
	return strings.Join(parts, " ")
}

// parsePlanned reads what formatPlanned writes. It leaves out what it cannot
// read. To refuse the whole NodeClaim instead would make the core launch again
// for all of its pods.
func parsePlanned(text string) []cluster.Slot {
	var out []cluster.Slot
	for _, part := range strings.Fields(text) {
		kind, count, _ := strings.Cut(part, "=")
		if n, err := strconv.ParseInt(count, 10, 32); err == nil && n > 0 {
			out = append(out, cluster.Slot{Kind: kind, Count: n})
		}
	}
	return out
}
