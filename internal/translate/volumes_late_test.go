package translate_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	scheduler "k8s.io/component-helpers/storage/volume"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// free makes a volume of the class manual that nobody has, of so many gibibytes.
func free(name string, gib int, terms ...corev1.NodeSelectorTerm) *corev1.PersistentVolume {
	v := volume(name, corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: ebs}}, terms...)
	v.Spec.StorageClassName, v.Spec.Capacity = "manual", corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(fmt.Sprintf("%dGi", gib))}
	v.Spec.AccessModes, v.Status.Phase = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, corev1.VolumeAvailable
	return v
}

// asks makes a claim of the class manual for so many gibibytes.
func asks(name string, gib int, changes ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := claim(name, ofClass("manual"))
	c.Namespace, c.UID = "default", types.UID(name)
	c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(fmt.Sprintf("%dGi", gib))}
	for _, change := range changes {
		change(c)
	}
	return c
}

// having is the storage of a cluster with these free volumes and claims, too. All pass a
// Keeper first, as they do in the daemon.
func having(volumes []*corev1.PersistentVolume, claims ...*corev1.PersistentVolumeClaim) translate.Lookups {
	k := translate.NewKeeper()
	kept := make([]*corev1.PersistentVolumeClaim, 0, len(claims))
	for _, c := range claims {
		c = c.DeepCopy()
		k.Keep(c)
		kept = append(kept, c)
	}
	l := with(kept...)
	l.FreeVolumes = func(class string) *translate.FreeVolumes {
		var out []translate.FreeVolume
		for _, v := range volumes {
			v = v.DeepCopy()
			k.Keep(v)
			if translate.Free(v) && v.Spec.StorageClassName == class {
				out = append(out, translate.ReadFree(v))
			}
		}
		return translate.NewFreeVolumes(out)
	}
	return l
}

func TestVolumes_AClaimOfAClassThatMakesNoneNeedsANodeWhereAFreeVolumeMatches(t *testing.T) {
	block := corev1.PersistentVolumeBlock
	change := func(v *corev1.PersistentVolume, f func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
		f(v)
		return v
	}
	inA, inB := in(label.Zone, "a"), in("topology.ebs.csi.aws.com/zone", "b")
	keptFor := func(v *corev1.PersistentVolume, namespace, name, uid string) *corev1.PersistentVolume {
		v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: namespace, Name: name, UID: types.UID(uid)}
		return v
	}
	const none = "none"
	for name, tc := range map[string]struct {
		volumes []*corev1.PersistentVolume
		claims  []*corev1.PersistentVolumeClaim
		want    string // or none
	}{
		"of one zone":              {[]*corev1.PersistentVolume{free("pv", 10, inA)}, nil, "[[topology.kubernetes.io/zone In [a]]]"},
		"of two zones":             {[]*corev1.PersistentVolume{free("pv", 10, inA), free("pw", 20, inB)}, nil, "[[topology.kubernetes.io/zone In [a b]]]"},
		"of any node":              {[]*corev1.PersistentVolume{free("pv", 10), free("pw", 10, inA)}, nil, "[]"},
		"of one node":              {[]*corev1.PersistentVolume{free("pv", 10, in(label.Hostname, "h1")), free("pw", 10, in(label.Hostname, "h2"))}, nil, "[[kubernetes.io/hostname In [h1 h2]]]"},
		"of a place by the driver": {[]*corev1.PersistentVolume{free("pv", 10, in("topology.example.com/rack", "r1"))}, nil, "[[topology.example.com/rack In [r1]]]"},
		"too small":                {[]*corev1.PersistentVolume{free("pv", 9, inA), free("pw", 10, inB)}, nil, "[[topology.kubernetes.io/zone In [b]]]"},
		"nothing fits":             {[]*corev1.PersistentVolume{free("pv", 9, inA)}, nil, none},
		"none at all":              {nil, nil, none},
		"of another class":         {[]*corev1.PersistentVolume{change(free("pv", 10, inA), func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "x" })}, nil, none},
		"bound":                    {[]*corev1.PersistentVolume{change(free("pv", 10, inA), func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound })}, nil, none},
		"released":                 {[]*corev1.PersistentVolume{change(free("pv", 10, inA), func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeReleased })}, nil, none},
		"being deleted":            {[]*corev1.PersistentVolume{change(free("pv", 10, inA), func(v *corev1.PersistentVolume) { v.DeletionTimestamp = &metav1.Time{} })}, nil, none},
		"of another mode":          {[]*corev1.PersistentVolume{change(free("pv", 10, inA), func(v *corev1.PersistentVolume) { v.Spec.VolumeMode = &block })}, nil, none},
		"shared by nobody": {[]*corev1.PersistentVolume{change(free("pv", 10, inA), func(v *corev1.PersistentVolume) {
			v.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany}
		})}, nil, none},
		"kept for another claim": {[]*corev1.PersistentVolume{keptFor(free("pv", 10, inA), "default", "other", "")}, nil, none},
		"kept for its namesake":  {[]*corev1.PersistentVolume{keptFor(free("pv", 10, inA), "default", "data", "before")}, nil, none},
		"kept for it":            {[]*corev1.PersistentVolume{free("pv", 10, inA), keptFor(free("pw", 50, inB), "default", "data", "")}, nil, "[[topology.kubernetes.io/zone In [b]]]"},
		"of a selector": {[]*corev1.PersistentVolume{free("pv", 10, inA), change(free("pw", 10, inB), func(v *corev1.PersistentVolume) { v.Labels = map[string]string{"tier": "gold"} })}, []*corev1.PersistentVolumeClaim{asks("data", 10, func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
		})}, "[[topology.kubernetes.io/zone In [b]]]"},
		"two claims, where both are":                               {[]*corev1.PersistentVolume{free("pv", 10, inA), free("pw", 10, inB), free("px", 10, inB)}, []*corev1.PersistentVolumeClaim{asks("data", 10), asks("log", 5)}, "[[topology.kubernetes.io/zone In [b]]]"},
		"two claims, one of which is too large":                    {[]*corev1.PersistentVolume{free("pv", 5, inA)}, []*corev1.PersistentVolumeClaim{asks("data", 10), asks("log", 5)}, none},
		"two claims, for one volume":                               {[]*corev1.PersistentVolume{free("pv", 10, inA)}, []*corev1.PersistentVolumeClaim{asks("data", 10), asks("log", 5)}, none},
		"two claims, the small one does not take the large volume": {[]*corev1.PersistentVolume{free("pv", 10, inA), free("pw", 5, inA)}, []*corev1.PersistentVolumeClaim{asks("data", 10), asks("log", 5)}, "[[topology.kubernetes.io/zone In [a]]]"},
		"two claims, whose places overlap":                         {[]*corev1.PersistentVolume{free("pv", 10, in(label.Zone, "a", "b")), free("pw", 20, in(label.Zone, "b", "c"))}, []*corev1.PersistentVolumeClaim{asks("data", 20), asks("log", 5)}, "[[topology.kubernetes.io/zone In [b]]]"},
		"two claims, one place within another":                     {[]*corev1.PersistentVolume{free("pv", 10, in(label.Zone, "a", "b")), free("pw", 20, inA)}, []*corev1.PersistentVolumeClaim{asks("data", 20), asks("log", 5)}, "[[topology.kubernetes.io/zone In [a]]]"},
		"two claims, a host and a zone":                            {[]*corev1.PersistentVolume{free("pv", 10, in(label.Hostname, "h1")), free("pw", 20, inA), free("px", 10, in(label.Hostname, "h2"))}, []*corev1.PersistentVolumeClaim{asks("data", 20), asks("log", 5)}, "[[kubernetes.io/hostname In [h1 h2] and topology.kubernetes.io/zone In [a]]]"},
		"three claims, of three places":                            {[]*corev1.PersistentVolume{free("pv", 10, in(label.Zone, "a", "b", "c")), free("pw", 20, in(label.Zone, "b", "c")), free("px", 30, in(label.Zone, "c", "d"))}, []*corev1.PersistentVolumeClaim{asks("data", 30), asks("log", 5), asks("tmp", 20)}, "[[topology.kubernetes.io/zone In [c]]]"},
	} {
		claims := cmp.Or(len(tc.claims), 1)
		if tc.claims == nil {
			tc.claims = []*corev1.PersistentVolumeClaim{asks("data", 10)}
		}
		names := make([]string, 0, claims)
		for _, c := range tc.claims {
			names = append(names, c.Name)
		}
		got := word(t, having(tc.volumes, tc.claims...), withClaims(names...)).Shape
		if tc.want == none {
			want := "default/data is unbound, and storage class manual makes no volumes: create one that matches the claim"
			if name == "two claims, for one volume" {
				want = "default/log is unbound, as are other claims of the pod, and in no place has storage class manual free volumes for all of them"
			}
			if len(got.Unsupported) != 1 || !strings.Contains(got.Unsupported[0], want) {
				t.Errorf("%s: %v, %q, want it refused", name, got.Volumes, got.Unsupported)
			}
			continue
		}
		if slots := got.Requests.Get(cluster.AttachSlots(ebs)); fmt.Sprint(got.Volumes) != tc.want || len(got.Unsupported) > 0 || slots != int64(claims) {
			t.Errorf("%s: %v, %q, %d slots, want %s and a slot for each", name, got.Volumes, got.Unsupported, slots, tc.want)
		}
	}
}

func TestVolumes_AClassThatMakesVolumesTakesAFreeOneWhereItMayMakeNone(t *testing.T) {
	inC := free("pv", 10, in(label.Zone, "c"))
	inC.Spec.StorageClassName = "zoned"
	for name, tc := range map[string]struct {
		class, want string
		volumes     []*corev1.PersistentVolume
	}{
		"a free one elsewhere": {"zoned", "[[topology.kubernetes.io/zone In [a] topology.kubernetes.io/zone In [b] topology.kubernetes.io/zone In [c]]]", []*corev1.PersistentVolume{inC}},
		"none":                 {"zoned", "[[topology.kubernetes.io/zone In [a] topology.kubernetes.io/zone In [b]]]", nil},
		"it may be anywhere":   {"fast", "[]", []*corev1.PersistentVolume{inC}},
	} {
		got := word(t, having(tc.volumes, asks("data", 10, ofClass(tc.class))), withClaims("data")).Shape
		if fmt.Sprint(got.Volumes) != tc.want || len(got.Unsupported) > 0 {
			t.Errorf("%s: %v, %q, want %s", name, got.Volumes, got.Unsupported, tc.want)
		}
	}
}

func TestVolumes_AClaimToComeTakesAFreeVolumeToo(t *testing.T) {
	manual := "manual"
	l := having([]*corev1.PersistentVolume{free("pv", 10, in(label.Zone, "a"))})
	const want = "[[topology.kubernetes.io/zone In [a]]]"
	p := word(t, l, func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{ephemeral("scratch", &manual)} })
	if fmt.Sprint(p.Shape.Volumes) != want {
		t.Errorf("ephemeral volume: %v, %q, want %s", p.Shape.Volumes, p.Shape.Unsupported, want)
	}
	s := statefulSet()
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claim("data", ofClass(manual))}
	if w, ok := translate.StatefulSet(s, slices.Values([]*corev1.Pod(nil)), l); !ok || fmt.Sprint(w.Shape.Volumes) != want {
		t.Errorf("claim template: %v, %q, %v, want %s", w.Shape.Volumes, w.Shape.Unsupported, ok, want)
	}
}

// The kube-scheduler's own function says which volume a claim gets on a node.
func TestVolumes_MatchWhatTheSchedulerMatches(t *testing.T) {
	fits, refused := 0, 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		volumes, claims := drawStorage(r)
		names := []string{}
		for _, c := range claims {
			names = append(names, c.Name)
		}
		got := word(t, having(volumes, claims...), withClaims(names...)).Shape
		for _, zone := range []string{"a", "b", "c"} {
			want := schedulerBinds(t, claims, volumes, map[string]string{label.Zone: zone})
			met := len(got.Unsupported) == 0
			for _, alternatives := range got.Volumes {
				met = met && slices.ContainsFunc(alternatives, func(at label.Requirements) bool {
					_, unmet := at.Unmet(label.FromMap(map[string]string{label.Zone: zone}))
					return !unmet
				})
			}
			if met != want {
				t.Fatalf("seed %d, zone %s: places %v, unsupported %q; the scheduler binds: %v", seed, zone, got.Volumes, got.Unsupported, want)
			}
			if want {
				fits++
			} else {
				refused++
			}
		}
	}
	if fits < 500 || refused < 500 {
		t.Errorf("%d nodes fit and %d do not: the draw is one-sided", fits, refused)
	}
}

func drawStorage(r *rand.Rand) (volumes []*corev1.PersistentVolume, claims []*corev1.PersistentVolumeClaim) {
	block := corev1.PersistentVolumeBlock
	some := func(percent int) bool { return r.IntN(100) < percent }
	for i := range 1 + r.IntN(3) {
		c := asks(fmt.Sprint("claim", i), 1+r.IntN(4))
		if some(20) {
			c.Spec.VolumeMode = &block
		}
		if some(20) {
			c.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"gold"}}}}
		}
		if some(20) {
			c.Spec.AccessModes = append(c.Spec.AccessModes, corev1.ReadOnlyMany)
		}
		claims = append(claims, c)
	}
	for i := range r.IntN(7) {
		var terms []corev1.NodeSelectorTerm
		if n := r.IntN(6); n > 0 { // else it can be used anywhere
			terms = append(terms, in(label.Zone, string(rune('a'+r.IntN(3)))))
			switch n {
			case 1:
				terms = append(terms, in(label.Zone, "c"))
			case 2:
				terms = []corev1.NodeSelectorTerm{in(label.Zone, string(rune('a'+r.IntN(2))), "c")}
			}
		}
		v := free(fmt.Sprint("pv", i), 1+r.IntN(4), terms...)
		if some(20) {
			v.Spec.VolumeMode = &block
		}
		if some(30) {
			v.Labels = map[string]string{"tier": "gold"}
		}
		if some(50) {
			v.Spec.AccessModes = append(v.Spec.AccessModes, corev1.ReadOnlyMany)
		}
		switch {
		case some(10):
			v.Status.Phase = corev1.VolumeReleased
		case some(15): // no two are kept for one claim
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: fmt.Sprint("claim", i)}
		}
		volumes = append(volumes, v)
	}
	return volumes, claims
}

// Each pod asks for another size, and thousands of volumes of single hosts are free.
func BenchmarkVolumes_OfSingleHosts(b *testing.B) {
	const hosts = 5000
	var volumes []translate.FreeVolume
	for i := range hosts {
		volumes = append(volumes, translate.ReadFree(free(fmt.Sprint("pv", i), 100+i%10, in(label.Hostname, fmt.Sprint("h", i)))))
	}
	index := translate.NewFreeVolumes(volumes)
	i := 0
	for b.Loop() {
		c := asks("data", 1, func(c *corev1.PersistentVolumeClaim) {
			c.Spec.Resources.Requests[corev1.ResourceStorage] = *resource.NewQuantity(int64(1+i%100)<<30+int64(i), resource.BinarySI)
		})
		l := with(c)
		l.FreeVolumes = func(string) *translate.FreeVolumes { return index }
		if p := word(b, l, withClaims("data")); len(p.Shape.Volumes) != 1 || len(p.Shape.Unsupported) > 0 {
			b.Fatal(p.Shape.Volumes, p.Shape.Unsupported)
		}
		i++
	}
}

// schedulerBinds says whether each claim gets a volume on a node with the labels.
func schedulerBinds(t *testing.T, claims []*corev1.PersistentVolumeClaim, volumes []*corev1.PersistentVolume, labels map[string]string) bool {
	t.Helper()
	claims = slices.SortedStableFunc(slices.Values(claims), func(a, b *corev1.PersistentVolumeClaim) int {
		return a.Spec.Resources.Requests.Storage().Cmp(*b.Spec.Resources.Requests.Storage())
	})
	chosen := map[string]*corev1.PersistentVolume{}
	for _, c := range claims {
		v, err := scheduler.FindMatchingVolume(c, volumes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}}, chosen, true, true)
		if err != nil {
			t.Fatal(err)
		}
		if v == nil {
			return false
		}
		chosen[v.Name] = v
	}
	return true
}
