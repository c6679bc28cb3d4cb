package translate

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// A claim of a class that waits for the first consumer gets its volume when its pod gets a
// node. As in the kube-scheduler, that is the smallest free volume that matches the claim and
// can be used on that node. Where there is none, the class makes one, if it makes volumes.

// Free says whether a claim can still get the volume.
func Free(v *corev1.PersistentVolume) bool {
	return v.DeletionTimestamp == nil && v.Status.Phase == corev1.VolumeAvailable
}

// waits says whether claims of the class get their volumes when their pods get nodes.
func waits(class *storagev1.StorageClass) bool {
	return class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
}

// late returns the claim, which may be yet to come, and its class, if the claim gets its
// volume when the pod, which waits, gets a node; else nil.
func (s *shaper) late(n volumeNeed, l Lookups) (*corev1.PersistentVolumeClaim, *storagev1.StorageClass) {
	if s.pod.Spec.NodeName != "" {
		return nil, nil
	}
	claim, found := lookup(l.VolumeClaim, s.pod.Namespace, n.claim)
	switch {
	case n.template != nil && (!found || n.forPod && deletedFirst(claim, s.pod)):
		claim = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.pod.Namespace, Name: n.claim}, Spec: *n.template}
	case !found, claim.DeletionTimestamp != nil, claim.Status.Phase == corev1.ClaimLost, n.forPod && !metav1.IsControlledBy(claim, s.pod),
		claim.Spec.VolumeName != "", claim.Annotations[selectedNode] != "", claim.Spec.StorageClassName == nil:
		return nil, nil
	}
	class, found := l.classOf(claim.Spec.StorageClassName)
	if !found || !waits(class) {
		return nil, nil
	}
	return claim, class
}

// lateClaims are the late claims of one pod and one class. They compete for its volumes.
type lateClaims struct {
	class     *storagev1.StorageClass
	namespace string
	claims    []*corev1.PersistentVolumeClaim
}

// volumes returns the alternatives of which the node must meet one, and the driver that
// attaches the volumes. No alternatives mean any node.
func (c *lateClaims) volumes(l Lookups) ([]label.Requirements, string, error) {
	driver, makes := driverName(c.class.Provisioner), c.class.Provisioner != noProvisioner
	if makes && len(c.class.AllowedTopologies) == 0 {
		return nil, driver, nil
	}
	slices.SortStableFunc(c.claims, func(a, b *corev1.PersistentVolumeClaim) int { return storage(a).Cmp(*storage(b)) })
	var found answer
	if free := l.free(c.class.Name); free != nil {
		found = free.answer(c.claims)
	}
	if !makes {
		if found.one == nil {
			return nil, "", c.lacking(l)
		}
		return found.places, driverOf(found.one), nil
	}
	made, err := allowed(c.class)
	switch {
	case found.one == nil:
		return made, driver, err
	case len(found.places) == 0:
		return nil, driver, nil
	}
	return append(made, found.places...), driver, nil
}

// free returns the free volumes of the class; nil if none are known.
func (l Lookups) free(class string) *FreeVolumes {
	if l.FreeVolumes == nil {
		return nil
	}
	return l.FreeVolumes(class)
}

// lacking says what no free volume is there for: the first claim that none matches or, where
// each claim has one, all of them in one place.
func (c *lateClaims) lacking(l Lookups) error {
	free := l.free(c.class.Name)
	for _, claim := range c.claims {
		if free == nil || len(free.matching(claim)) == 0 {
			return fmt.Errorf("%s is unbound, and storage class %s makes no volumes: create one that matches the claim", claimID(c.namespace, claim.Name), c.class.Name)
		}
	}
	return fmt.Errorf("%s is unbound, as are other claims of the pod, and in no place has storage class %s free volumes for all of them: create what is missing in one zone or on one host",
		claimID(c.namespace, c.claims[0].Name), c.class.Name)
}

func storage(c *corev1.PersistentVolumeClaim) *resource.Quantity {
	return c.Spec.Resources.Requests.Storage()
}

// matches says whether the claim can get the volume, which is free and of its class.
func matches(v *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) bool {
	ref := v.Spec.ClaimRef
	if ref != nil && (ref.Namespace != c.Namespace || ref.Name != c.Name || ref.UID != "" && ref.UID != c.UID) {
		return false // it is kept for another claim
	}
	switch {
	case v.Spec.Capacity.Storage().Cmp(*storage(c)) < 0,
		valueOr(v.Spec.VolumeMode, corev1.PersistentVolumeFilesystem) != valueOr(c.Spec.VolumeMode, corev1.PersistentVolumeFilesystem),
		valueOr(v.Spec.VolumeAttributesClassName, "") != valueOr(c.Spec.VolumeAttributesClassName, ""):
		return false
	case ref != nil:
		return true
	}
	for _, mode := range c.Spec.AccessModes {
		if !slices.Contains(v.Spec.AccessModes, mode) {
			return false
		}
	}
	if c.Spec.Selector == nil {
		return true
	}
	selects, err := selector(c.Spec.Selector)
	return err == nil && selects.Match.Select(podLabels(v.Labels))
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// united returns the places with those as one that differ in the values of one label alone, as
// the places of volumes of single nodes do.
func united(places []label.Requirements) []label.Requirements {
	type group struct {
		rest   label.Requirements
		key    string
		values []string
	}
	var out []label.Requirements
	groups := map[string]*group{}
	for _, at := range places {
		key, values, divided := divider(at)
		if !divided {
			out = append(out, at)
			continue
		}
		rest := slices.DeleteFunc(slices.Clone(at), func(r label.Requirement) bool { return r.Key() == key })
		k := key + string(rest.AppendKey(nil))
		if groups[k] == nil {
			groups[k] = &group{rest: rest, key: key}
		}
		groups[k].values = append(groups[k].values, values...)
	}
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		g := groups[k]
		if r, err := label.NewRequirement(g.key, label.In, g.values...); err == nil {
			out = append(out, g.rest.And(label.All(r)))
		}
	}
	return out
}

// divider returns the label by which the place is one of many alike, and its values: the
// host, if it names one, or its only label.
func divider(at label.Requirements) (key string, values []string, divided bool) {
	r, host := at.Get(label.Hostname)
	if !host && len(at) == 1 {
		r, host = at[0], true
	}
	values, listed := valuesNamed(r)
	return r.Key(), values, host && listed
}
