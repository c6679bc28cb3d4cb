package world

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func attachment(volume, node string) *storagev1.VolumeAttachment {
	a := &storagev1.VolumeAttachment{ObjectMeta: meta("csi-"+volume+node, 1), Spec: storagev1.VolumeAttachmentSpec{NodeName: node, Attacher: "ebs.csi.aws.com"}}
	if volume != "" {
		a.Spec.Source.PersistentVolumeName = &volume
	}
	return a
}

func TestWorld_VolumesAreAttachedUntilTheirAttachmentIsGone(t *testing.T) {
	w, keeper := newWorld(), translate.NewKeeper()
	c, n := nodeClaim("c", 1), &corev1.Node{ObjectMeta: meta("n", 1)}
	c.Status.ProviderID, n.Spec.ProviderID = "aws:///a/i-1", "aws:///a/i-1"
	data := attachment("data", "n")
	claimOf := func(name, volume string) *corev1.PersistentVolumeClaim {
		x := &corev1.PersistentVolumeClaim{ObjectMeta: meta(name, 1), Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
		x.Namespace = "default"
		return x
	}
	agent := pod("agent", 1, "n")
	agent.Spec.Volumes = []corev1.Volume{
		{Name: "logs", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "logs"}}},
		{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}}},
		{Name: "none", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
	}
	for _, o := range []metav1.Object{
		c, n, data, attachment("logs", "n"), attachment("tmp", "n"), attachment("other", "m"), attachment("", "n"), agent,
		claimOf("logs", "logs"), claimOf("agent-scratch", "tmp"), claimOf("data", "data"),
	} {
		keeper.Keep(o)
		w.Observe(o)
	}
	want := func(staying []*corev1.Pod, want ...string) {
		t.Helper()
		if got := w.AttachedTo("n", staying); !slices.Equal(got, want) {
			t.Errorf("attached %q, want %q", got, want)
		}
	}
	want(nil, "csi-n", "data", "logs", "tmp")
	want(w.PodsOn("n"), "csi-n", "data")
	var told []string
	w.Subscribe(Subscriber{Claim: func(name string) { told = append(told, name) }})
	told = nil
	w.Forget(data)
	want(nil, "csi-n", "logs", "tmp")
	if !slices.Equal(told, []string{"c"}) {
		t.Errorf("told %q, want the NodeClaim whose end waits for the volume", told)
	}
}

func TestWorld_APodThatWaitsForAFreeVolumeIsReadAgainWhenOneComesAndGoes(t *testing.T) {
	w, keeper := newWorld(), translate.NewKeeper()
	manual, wait := "manual", storagev1.VolumeBindingWaitForFirstConsumer
	p := pod("a", 1, "")
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
	}}}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data", 2), Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &manual}}
	claim.Namespace = "default"
	volume := func(version int, zone string, phase corev1.PersistentVolumePhase) *corev1.PersistentVolume {
		v := &corev1.PersistentVolume{ObjectMeta: meta("pv", version), Spec: corev1.PersistentVolumeSpec{StorageClassName: manual}}
		v.Labels, v.Status.Phase = map[string]string{label.Zone: zone}, phase
		return v
	}
	for _, o := range []metav1.Object{
		p, claim, &storagev1.StorageClass{ObjectMeta: meta(manual, 3), Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait},
	} {
		keeper.Keep(o)
		w.Observe(o)
	}
	refused := func(what string, want int) {
		t.Helper()
		s, _ := w.Snapshot()
		if got := s.Pods()[0].Shape; len(got.Unsupported) != want {
			t.Errorf("%s: the pod is at %v, unsupported %q", what, got.Volumes, got.Unsupported)
		}
	}
	see := func(v *corev1.PersistentVolume) *corev1.PersistentVolume { keeper.Keep(v); w.Observe(v); return v }
	refused("without a volume", 1)
	see(volume(4, "a", corev1.VolumeAvailable))
	refused("with one in zone a", 0)
	see(volume(5, "a", corev1.VolumeBound))
	refused("when another claim has it", 1)
	last := see(volume(6, "a", corev1.VolumeAvailable))
	refused("when it is free again", 0)
	w.Forget(last)
	refused("when it is gone", 1)
}

func TestWorld_APodThatWaitsForAClaimForOnePodIsReadAgainWhenItsUserGoes(t *testing.T) {
	w, keeper := newWorld(), translate.NewKeeper()
	using := func(name string, version int, node string) *corev1.Pod {
		p := pod(name, version, node)
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
		return p
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta("data", 2), Spec: corev1.PersistentVolumeClaimSpec{
		VolumeName: "pv", AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod},
	}}
	claim.Namespace = "default"
	see := func(o metav1.Object) { keeper.Keep(o); w.Observe(o) }
	refused := func(what string, want int) {
		t.Helper()
		s, _ := w.Snapshot()
		for _, p := range s.Pods() {
			if p.Name == "next" && len(p.Shape.Unsupported) != want {
				t.Errorf("%s: unsupported %q", what, p.Shape.Unsupported)
			}
		}
	}
	see(claim)
	see(&corev1.PersistentVolume{ObjectMeta: meta("pv", 3)})
	see(using("next", 4, ""))
	refused("while nobody has it", 0)
	see(using("first", 5, "n"))
	refused("while another has it", 1)
	leaving := using("first", 6, "n")
	leaving.DeletionTimestamp = &metav1.Time{}
	see(leaving)
	refused("when that one terminates", 0)
	see(using("third", 7, "n"))
	refused("when a third has it", 1)
	ended := using("third", 8, "n")
	ended.Status.Phase = corev1.PodSucceeded
	see(ended)
	refused("when that one has finished", 0)
	last := using("last", 9, "n")
	see(last)
	refused("when a last one has it", 1)
	w.Forget(last)
	refused("when that is gone", 0)
}
