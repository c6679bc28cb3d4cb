package translate

import (
	"cmp"
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
	case n.template != nil && (!found || n.forPod && goesFirst(claim, s.pod)):
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
	kept      map[*corev1.PersistentVolumeClaim]string // the volume that is kept for a claim, which gets no other
}

// volumes returns the alternatives of which the node must meet one, and the driver that
// attaches the volumes. No alternatives mean any node.
func (c *lateClaims) volumes(l Lookups) ([]label.Requirements, string, error) {
	driver, makes := driverName(c.class.Provisioner), c.class.Provisioner != noProvisioner
	if makes && len(c.class.AllowedTopologies) == 0 {
		return nil, driver, nil
	}
	places, one := c.match(l)
	if !makes {
		if one == nil {
			return nil, "", c.lacking(l)
		}
		return places, driverOf(one), nil
	}
	made, err := allowed(c.class)
	switch {
	case one == nil:
		return made, driver, err
	case len(places) == 0:
		return nil, driver, nil
	}
	return append(made, places...), driver, nil
}

// lacking says what no free volume is there for: the first claim that none matches or, where
// each claim has one, all of them in one place.
func (c *lateClaims) lacking(l Lookups) error {
	var free []*corev1.PersistentVolume
	if l.FreeVolumes != nil {
		free = l.FreeVolumes(c.class.Name)
	}
	for _, claim := range c.claims {
		if !slices.ContainsFunc(free, func(v *corev1.PersistentVolume) bool { return matches(v, claim) }) {
			return fmt.Errorf("%s is unbound, and storage class %s makes no volumes: create one that matches the claim", claimID(c.namespace, claim.Name), c.class.Name)
		}
	}
	return fmt.Errorf("%s is unbound, as are other claims of the pod, and in no place has storage class %s free volumes for all of them: create what is missing in one zone or on one host",
		claimID(c.namespace, c.claims[0].Name), c.class.Name)
}

// site is a place with the volumes that can be used there.
type site struct {
	at      label.Requirements
	volumes []*corev1.PersistentVolume
}

// match returns the places where free volumes match all the claims, and one of the volumes;
// nil if there is none. No places mean any node. A node that is at several places at once
// counts with the volumes of each alone: claims that need volumes of two places, one of which
// contains the other, are refused.
func (c *lateClaims) match(l Lookups) ([]label.Requirements, *corev1.PersistentVolume) {
	if l.FreeVolumes == nil {
		return nil, nil
	}
	free := smallestFirst(l.FreeVolumes(c.class.Name))
	slices.SortStableFunc(c.claims, func(a, b *corev1.PersistentVolumeClaim) int { return storage(a).Cmp(*storage(b)) })
	c.keep(free)
	var anywhere []*corev1.PersistentVolume
	sites := map[string]*site{}
	for _, v := range free {
		places, err := placesOf(v, false)
		if err == nil && len(places) == 0 {
			anywhere = append(anywhere, v)
		}
		for _, at := range places {
			key := string(at.AppendKey(nil))
			if sites[key] == nil {
				sites[key] = &site{at: at}
			}
			sites[key].volumes = append(sites[key].volumes, v)
		}
	}
	if one := c.served(anywhere); one != nil {
		return nil, one
	}
	var places []label.Requirements
	var found *corev1.PersistentVolume
	for _, key := range slices.Sorted(maps.Keys(sites)) {
		if one := c.served(smallestFirst(slices.Concat(anywhere, sites[key].volumes))); one != nil {
			places, found = append(places, sites[key].at), one
		}
	}
	return united(places), found
}

// keep notes which of the volumes are kept for one of the claims.
func (c *lateClaims) keep(volumes []*corev1.PersistentVolume) {
	c.kept = map[*corev1.PersistentVolumeClaim]string{}
	for _, v := range volumes {
		for _, claim := range c.claims {
			if v.Spec.ClaimRef != nil && matches(v, claim) {
				c.kept[claim] = v.Name
			}
		}
	}
}

// served returns the volume that one of the claims gets if there are these volumes; nil if
// one of the claims gets none. The smallest volumes and claims come first.
func (c *lateClaims) served(volumes []*corev1.PersistentVolume) (one *corev1.PersistentVolume) {
	taken := map[string]bool{}
	for _, claim := range c.claims {
		i := slices.IndexFunc(volumes, func(v *corev1.PersistentVolume) bool {
			name, kept := c.kept[claim]
			return !taken[v.Name] && (!kept || name == v.Name) && matches(v, claim)
		})
		if i < 0 {
			return nil
		}
		one = volumes[i]
		taken[one.Name] = true
	}
	return one
}

func smallestFirst(volumes []*corev1.PersistentVolume) []*corev1.PersistentVolume {
	slices.SortFunc(volumes, func(a, b *corev1.PersistentVolume) int {
		return cmp.Or(a.Spec.Capacity.Storage().Cmp(*b.Spec.Capacity.Storage()), cmp.Compare(a.Name, b.Name))
	})
	return volumes
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

// united returns the places with those as one that differ in the value of one label alone,
// as the places of volumes of single nodes do.
func united(places []label.Requirements) []label.Requirements {
	var out []label.Requirements
	byKey := map[string][]string{}
	for _, at := range places {
		if len(at) == 1 && !at[0].AdmitsAbsence() {
			if values, listed := at[0].Values(); listed {
				byKey[at[0].Key()] = append(byKey[at[0].Key()], values...)
				continue
			}
		}
		out = append(out, at)
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		if r, err := label.NewRequirement(key, label.In, byKey[key]...); err == nil {
			out = append(out, label.All(r))
		}
	}
	return out
}
