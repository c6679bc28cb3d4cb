package world

import (
	"iter"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// VolumeAttachments matter to drains alone, so no translation uses them.

func (w *World) putAttachment(a *storagev1.VolumeAttachment) {
	on := w.objects.attachments
	if on[a.Spec.NodeName] == nil {
		on[a.Spec.NodeName] = map[string]*storagev1.VolumeAttachment{}
	}
	store(on[a.Spec.NodeName], a.Name, a)
}

// removeAttachment returns the NodeClaim of the node, whose drain may wait for that.
func (w *World) removeAttachment(a *storagev1.VolumeAttachment) []string {
	on := w.objects.attachments
	known, there := on[a.Spec.NodeName][a.Name]
	if !there || known.UID != a.UID {
		return nil
	}
	delete(on[a.Spec.NodeName], a.Name)
	if len(on[a.Spec.NodeName]) == 0 {
		delete(on, a.Spec.NodeName)
	}
	return w.claimsOfNode(w.objects.nodes[a.Spec.NodeName])
}

// AttachedTo returns the PersistentVolumes that are attached to the node, without those
// of the pods that stay there, sorted. A volume that has no PersistentVolume is named by its
// VolumeAttachment.
func (w *World) AttachedTo(node string, staying []*corev1.Pod) (volumes []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	stay := map[string]bool{}
	for _, p := range staying {
		for _, v := range p.Spec.Volumes {
			claim := ""
			switch {
			case v.PersistentVolumeClaim != nil:
				claim = v.PersistentVolumeClaim.ClaimName
			case v.Ephemeral != nil:
				claim = p.Name + "-" + v.Name
			}
			if c, there := w.objects.volumeClaims[p.Namespace+"/"+claim]; there && claim != "" {
				stay[c.Spec.VolumeName] = true
			}
		}
	}
	for name, a := range w.objects.attachments[node] {
		if pv := a.Spec.Source.PersistentVolumeName; pv != nil {
			name = *pv
		}
		if !stay[name] {
			volumes = append(volumes, name)
		}
	}
	slices.Sort(volumes)
	return volumes
}

// listFree lists the volume if claims can still get it. nil: there is no such volume.
func (w *World) listFree(name string, v *corev1.PersistentVolume) {
	for class, volumes := range w.objects.freeVolumes {
		if _, listed := volumes[name]; !listed {
			continue
		}
		delete(volumes, name)
		if len(volumes) == 0 {
			delete(w.objects.freeVolumes, class)
		}
		w.touchFree(class)
	}
	if v == nil || !translate.Free(v) {
		return
	}
	class := v.Spec.StorageClassName
	if w.objects.freeVolumes[class] == nil {
		w.objects.freeVolumes[class] = map[string]translate.FreeVolume{}
	}
	w.objects.freeVolumes[class][name] = translate.ReadFree(v)
	w.touchFree(class)
}

func (w *World) touchFree(class string) {
	delete(w.objects.freeIndex, class)
	w.translations.touch(ref{freeVolumesKind, class})
}

// freeVolumes finds the free volumes of the class.
func (w *World) freeVolumes(class string) *translate.FreeVolumes {
	w.translations.use(ref{freeVolumesKind, class})
	f, known := w.objects.freeIndex[class]
	if !known && len(w.objects.freeVolumes[class]) > 0 {
		f = translate.NewFreeVolumes(slices.Collect(maps.Values(w.objects.freeVolumes[class])))
		w.objects.freeIndex[class] = f
	}
	return f
}

// claimsUsed lists the PersistentVolumeClaims (namespace/name) that the pod uses, if it runs
// and stays. Those of its own ephemeral volumes are nobody else's.
func claimsUsed(p *corev1.Pod) iter.Seq[string] {
	return func(yield func(string) bool) {
		if p.Spec.NodeName == "" || p.DeletionTimestamp != nil || translate.Finished(p) {
			return
		}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && !yield(p.Namespace+"/"+v.PersistentVolumeClaim.ClaimName) {
				return
			}
		}
	}
}

// claimUser finds a pod that runs, stays, and uses the claim, the first by name of several.
func (w *World) claimUser(namespace, claim string, self types.UID) (name string, used bool) {
	k := namespace + "/" + claim
	w.translations.use(ref{claimUsersKind, k})
	for _, p := range w.podsUsing[k] {
		if p.UID != self && (!used || p.Name < name) {
			name, used = p.Name, true
		}
	}
	return name, used
}
