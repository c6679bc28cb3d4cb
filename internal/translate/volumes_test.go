package translate_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

const ebs = "ebs.csi.aws.com"

func claim(name string, change func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	change(c)
	return c
}

func ofClass(name string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &name }
}

func boundTo(volume string) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = volume }
}

func volume(name string, source corev1.PersistentVolumeSource, terms ...corev1.NodeSelectorTerm) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}}
	if terms != nil {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
	return v
}

func in(key string, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}}}
}

func class(name, provisioner string, mode storagev1.VolumeBindingMode, zones ...string) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode}
	for _, z := range zones {
		c.AllowedTopologies = append(c.AllowedTopologies, corev1.TopologySelectorTerm{
			MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: "topology.ebs.csi.aws.com/zone", Values: []string{z}}},
		})
	}
	return c
}

// storage is a cluster with volumes of every kind. Only the EBS driver is
// limited.
func storage() translate.Lookups {
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: ebs}}
	local := corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}
	old := volume("pv-old", corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{}})
	old.Labels = map[string]string{"failure-domain.beta.kubernetes.io/zone": "a__b"}
	named := func(name string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) {
			ofClass("fast")(c)
			c.Annotations = map[string]string{"volume.kubernetes.io/selected-node": name}
		}
	}
	none := ""
	claims := []*corev1.PersistentVolumeClaim{
		claim("data-web-0", boundTo("pv-a")), claim("either", boundTo("pv-ab")), claim("old", boundTo("pv-old")), claim("local", boundTo("pv-local")),
		claim("anywhere", boundTo("pv-any")), claim("nowhere", boundTo("pv-nowhere")), claim("missing-volume", boundTo("pv-gone")),
		claim("late", ofClass("fast")), claim("zoned", ofClass("zoned")), claim("choosing", named("n1")), claim("intree", ofClass("intree")), claim("shared", ofClass("efs")),
		claim("immediate", ofClass("now")), claim("manual", ofClass("manual")), claim("missing-class", ofClass("gone")), claim("classless", func(*corev1.PersistentVolumeClaim) {}),
		claim("static", func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &none }),
		claim("lost", func(c *corev1.PersistentVolumeClaim) { boundTo("pv-x")(c); c.Status.Phase = corev1.ClaimLost }),
		claim("going", func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} }),
		claim("web-foreign", ofClass("fast")),
	}
	volumes := []*corev1.PersistentVolume{
		volume("pv-a", csi, in("topology.ebs.csi.aws.com/zone", "a")), volume("pv-ab", csi, in(label.Zone, "a"), corev1.NodeSelectorTerm{}, in(label.Zone, "b")),
		volume("pv-any", csi), old, volume("pv-local", local, in(label.Hostname, "h1")), volume("pv-nowhere", csi, corev1.NodeSelectorTerm{}),
	}
	const wait = storagev1.VolumeBindingWaitForFirstConsumer
	classes := []*storagev1.StorageClass{
		class("fast", ebs, wait), class("zoned", ebs, wait, "a", "b"), class("intree", "kubernetes.io/aws-ebs", wait), class("efs", "efs.csi.aws.com", wait),
		class("now", ebs, storagev1.VolumeBindingImmediate), class("manual", "kubernetes.io/no-provisioner", wait),
	}
	return translate.Lookups{
		VolumeClaim: func(_, name string) (*corev1.PersistentVolumeClaim, bool) { return byName(claims, name) },
		Volume:      func(name string) (*corev1.PersistentVolume, bool) { return byName(volumes, name) },
		StorageClass: func(name string) (*storagev1.StorageClass, bool) {
			if name == "" {
				name = "zoned"
			}
			return byName(classes, name)
		},
		Limited: func(driver string) bool { return driver == ebs },
	}
}

func byName[T metav1.Object](all []T, name string) (T, bool) {
	i := slices.IndexFunc(all, func(o T) bool { return o.GetName() == name })
	if i < 0 {
		var none T
		return none, false
	}
	return all[i], true
}

func withClaims(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for i, name := range names {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: fmt.Sprint("v", i), VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			}})
		}
	}
}

func TestVolumes_PlaceThePodWhereTheyAreOrCanBe(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.Pod)
		want   string // alternatives by volume
		slots  int64
	}{
		"bound":                           {withClaims("data-web-0"), "[[topology.kubernetes.io/zone In [a]]]", 1},
		"bound, terms are alternatives":   {withClaims("either"), "[[topology.kubernetes.io/zone In [a] topology.kubernetes.io/zone In [b]]]", 1},
		"bound, without affinity":         {withClaims("anywhere"), "[]", 1},
		"bound, placed by labels":         {withClaims("old"), "[[topology.kubernetes.io/zone In [a b]]]", 1},
		"waits for the pod":               {withClaims("late"), "[]", 1},
		"waits, in some zones":            {withClaims("zoned"), "[[topology.kubernetes.io/zone In [a] topology.kubernetes.io/zone In [b]]]", 1},
		"waits, the scheduler has chosen": {withClaims("choosing"), "[[@metadata.name In [n1]]]", 1},
		"two, both must agree":            {withClaims("data-web-0", "zoned"), "[[topology.kubernetes.io/zone In [a]] [topology.kubernetes.io/zone In [a] topology.kubernetes.io/zone In [b]]]", 2},
		"one claim mounted twice":         {withClaims("late", "late"), "[]", 1},
		"provisioner of old":              {withClaims("intree"), "[]", 1},
		"driver without a limit":          {withClaims("shared"), "[]", 0},
		"local, while the pod waits":      {withClaims("local"), "[[kubernetes.io/hostname In [h1]]]", 0},
		"local, the pod runs":             {func(p *corev1.Pod) { withClaims("local")(p); p.Spec.NodeName = "n" }, "[]", 0},
		"ephemeral, not made yet":         {func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{ephemeral("scratch", nil)} }, "[[topology.kubernetes.io/zone In [a] topology.kubernetes.io/zone In [b]]]", 1},
		"inline of old": {func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{}}}}
		}, "[]", 1},
	} {
		got := word(t, storage(), tc.change).Shape
		if fmt.Sprint(got.Volumes) != tc.want || got.Requests.Get(cluster.AttachSlots(ebs)) != tc.slots || len(got.Unsupported) > 0 {
			t.Errorf("%s: %v, %s, %q; want %s, %d slots", name, got.Volumes, got.Requests, got.Unsupported, tc.want, tc.slots)
		}
	}
}

func ephemeral(name string, class *string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: class}},
	}}}
}

func TestVolumes_BrokenOneIsNamedWithItsRemedyAndHoldsUpItsPodsOnly(t *testing.T) {
	for name, want := range map[string]string{
		"absent":         "persistent volume claim default/absent does not exist: create it",
		"missing-volume": "persistent volume claim default/missing-volume: persistent volume pv-gone does not exist: restore it or delete the claim",
		"nowhere":        "persistent volume claim default/nowhere: persistent volume pv-nowhere has only empty nodeAffinity terms, which select no node",
		"immediate":      "persistent volume claim default/immediate is unbound, and storage class now binds immediately: find out why its volume is not made",
		"manual":         "persistent volume claim default/manual is unbound, and storage class manual makes no volumes: create one that matches the claim",
		"missing-class":  "persistent volume claim default/missing-class: storage class gone does not exist: create it",
		"classless":      "persistent volume claim default/classless is unbound and has no storage class: bind it to a volume",
		"static":         "persistent volume claim default/static is unbound and has no storage class: bind it to a volume",
		"lost":           "persistent volume claim default/lost has lost its volume pv-x: restore the volume or delete the claim",
		"going":          "persistent volume claim default/going is being deleted: delete the pods that hold it",
	} {
		if got := word(t, storage(), withClaims(name)).Shape.Unsupported; !slices.Equal(got, []string{want}) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	foreign := word(t, storage(), func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{ephemeral("foreign", nil)} })
	if got, want := foreign.Shape.Unsupported, "persistent volume claim default/web-foreign was not made for the pod: delete the claim"; !slices.Equal(got, []string{want}) {
		t.Errorf("ephemeral volume: %q, want %q", got, want)
	}
}

func TestVolumes_NothingIsLaunchedForAClaimToComeThatBindsImmediately(t *testing.T) {
	now := "now"
	want := []string{"persistent volume claim of the template is unbound, and storage class now binds immediately: find out why its volume is not made"}
	p := word(t, storage(), func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{ephemeral("scratch", &now)} })
	if got := p.Shape.Unsupported; !slices.Equal(got, want) {
		t.Errorf("ephemeral volume: %q, want %q", got, want)
	}
	s := statefulSet()
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claim("data", ofClass(now))}
	w, ok := translate.StatefulSet(s, slices.Values([]*corev1.Pod(nil)), storage())
	if got := w.Shape.Unsupported; !ok || !slices.Equal(got, want) {
		t.Errorf("claim template: %q, %v, want %q", got, ok, want)
	}
}

func TestNode_HasItsNameAsALabelAndSlotsToAttachVolumes(t *testing.T) {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"beta.kubernetes.io/os": "linux"}}}
	count := int32(25)
	csi := &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
		{Name: "kubernetes.io/aws-ebs", Allocatable: &storagev1.VolumeNodeResources{Count: &count}}, {Name: "efs.csi.aws.com"},
	}}}
	slots := func(w cluster.Node, driver string) int64 { return w.Allocatable.Get(cluster.AttachSlots(driver)) }
	got := translate.Node(n, "", csi, []string{ebs, "efs.csi.aws.com"})
	if name, _ := got.Labels.Get(label.NodeName); name != "n" || slots(got, ebs) != 25 || slots(got, "efs.csi.aws.com") != cluster.UnlimitedSlots {
		t.Errorf("node = %+v", got)
	}
	if os, _ := got.Labels.Get(label.OS); os != "linux" {
		t.Errorf("labels %v", got.Labels)
	}
	if got := translate.Node(n, "", nil, []string{ebs}); slots(got, ebs) != cluster.UnlimitedSlots {
		t.Errorf("a node whose driver is not there yet has %d slots", slots(got, ebs))
	}
	count = 0
	if got := translate.Node(n, "", csi, []string{ebs}); slots(got, ebs) != 0 {
		t.Errorf("a node that can attach nothing has %d slots", slots(got, ebs))
	}
	if list := translate.ResourceList(got.Allocatable); len(list) != 0 {
		t.Errorf("slots are written as resources of the API: %v", list)
	}
}

// mine says that the claim is deleted with the pod that word makes.
func mine(controls bool) func(*corev1.PersistentVolumeClaim) {
	return ownedBy(metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "u", Controller: &controls})
}

func ownedBy(ref metav1.OwnerReference) func(*corev1.PersistentVolumeClaim) {
	return func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = append(c.OwnerReferences, ref) }
}

// with is the storage of a cluster that has these claims, too.
func with(claims ...*corev1.PersistentVolumeClaim) translate.Lookups {
	l := storage()
	others := l.VolumeClaim
	l.VolumeClaim = func(namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
		if c, there := byName(claims, name); there {
			return c, true
		}
		return others(namespace, name)
	}
	return l
}

func TestVolumes_OneThatGoesWithItsPodTiesTheRunningPodToNoPlace(t *testing.T) {
	fast, zoned, now, manual, gone, none := "fast", "zoned", "now", "manual", "gone", ""
	bound := claim("web-scratch", func(c *corev1.PersistentVolumeClaim) { mine(true)(c); boundTo("pv-a")(c); ofClass("fast")(c) })
	for name, tc := range map[string]struct {
		volume corev1.Volume
		claim  *corev1.PersistentVolumeClaim
		want   string
		slots  int64
	}{
		"ephemeral":                          {ephemeral("scratch", &fast), bound, "[]", 1},
		"ephemeral, in some zones":           {ephemeral("scratch", &zoned), bound, "[[topology.kubernetes.io/zone In [a] topology.kubernetes.io/zone In [b]]]", 1},
		"ephemeral, of the default class":    {ephemeral("scratch", nil), bound, "[[topology.kubernetes.io/zone In [a] topology.kubernetes.io/zone In [b]]]", 1},
		"ephemeral, bound before the pod is": {ephemeral("scratch", &now), bound, "[]", 1},
		"ephemeral, of a class that is gone": {ephemeral("scratch", &gone), bound, "[[topology.kubernetes.io/zone In [a]]]", 1},
		"ephemeral, of a class without any":  {ephemeral("scratch", &manual), bound, "[[topology.kubernetes.io/zone In [a]]]", 1},
		"ephemeral, bound by hand":           {ephemeral("scratch", &none), bound, "[[topology.kubernetes.io/zone In [a]]]", 1},
		"a claim that its pod owns":          {claimed("web-scratch"), claim("web-scratch", func(c *corev1.PersistentVolumeClaim) { mine(false)(c); boundTo("pv-a")(c); ofClass("fast")(c) }), "[]", 1},
		"a claim that outlives the pod":      {claimed("data-web-0"), bound, "[[topology.kubernetes.io/zone In [a]]]", 1},
		"a claim that another pod owns": {claimed("web-scratch"), claim("web-scratch", func(c *corev1.PersistentVolumeClaim) {
			ownedBy(metav1.OwnerReference{Kind: "Pod", Name: "x", UID: "x"})(c)
			boundTo("pv-a")(c)
		}), "[[topology.kubernetes.io/zone In [a]]]", 1},
		"of the driver of the node's secrets": {corev1.Volume{Name: "s", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: ebs}}}, bound, "[]", 0},
	} {
		got := word(t, with(tc.claim), func(p *corev1.Pod) { p.Spec.NodeName, p.Spec.Volumes = "n", []corev1.Volume{tc.volume} }).Shape
		if fmt.Sprint(got.Volumes) != tc.want || got.Requests.Get(cluster.AttachSlots(ebs)) != tc.slots || len(got.Unsupported) > 0 {
			t.Errorf("%s: %v, %s, %q; want %s, %d slots", name, got.Volumes, got.Requests, got.Unsupported, tc.want, tc.slots)
		}
	}
}

func claimed(name string) corev1.Volume {
	return corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
}

func TestVolumes_OneOfThePodBeforeDoesNotHoldUpTheNextOne(t *testing.T) {
	fast, yes := "fast", true
	for name, change := range map[string]func(*corev1.PersistentVolumeClaim){
		"of the pod of the same name before": ownedBy(metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "web", UID: "before", Controller: &yes}),
		"being deleted":                      func(c *corev1.PersistentVolumeClaim) { mine(true)(c); c.DeletionTimestamp = &metav1.Time{} },
	} {
		c := claim("web-scratch", func(c *corev1.PersistentVolumeClaim) { change(c); boundTo("pv-a")(c) })
		got := word(t, with(c), func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{ephemeral("scratch", &fast)} }).Shape
		if len(got.Volumes)+len(got.Unsupported) > 0 {
			t.Errorf("%s: %v, %q", name, got.Volumes, got.Unsupported)
		}
	}
	// The pod waits for the volume that was made for itself.
	c := claim("web-scratch", func(c *corev1.PersistentVolumeClaim) { mine(true)(c); boundTo("pv-a")(c) })
	got := word(t, with(c), func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{ephemeral("scratch", &fast)} }).Shape
	if want := "[[topology.kubernetes.io/zone In [a]]]"; fmt.Sprint(got.Volumes) != want {
		t.Errorf("its own: %v, %q, want %s", got.Volumes, got.Unsupported, want)
	}
}

func TestVolumes_ATermThatCannotBeReadDoesNotMatterWhereAnotherOneIsMet(t *testing.T) {
	bad := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "cpus", Operator: corev1.NodeSelectorOpGt, Values: []string{"four"}}}}
	csi := corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: ebs}}
	l := with(claim("either", boundTo("pv-bad")), claim("neither", boundTo("pv-worse")), claim("late-either", ofClass("either")), claim("late-neither", ofClass("neither")))
	volumes, classes := l.Volume, l.StorageClass
	made := []*corev1.PersistentVolume{volume("pv-bad", csi, bad, in(label.Zone, "a")), volume("pv-worse", csi, bad)}
	either, neither := class("either", ebs, storagev1.VolumeBindingWaitForFirstConsumer, "a"), class("neither", ebs, storagev1.VolumeBindingWaitForFirstConsumer)
	worse := corev1.TopologySelectorTerm{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: label.Zone}}}
	either.AllowedTopologies = append(either.AllowedTopologies, worse, corev1.TopologySelectorTerm{})
	neither.AllowedTopologies = []corev1.TopologySelectorTerm{worse}
	l.Volume = func(name string) (*corev1.PersistentVolume, bool) {
		if v, there := byName(made, name); there {
			return v, true
		}
		return volumes(name)
	}
	l.StorageClass = func(name string) (*storagev1.StorageClass, bool) {
		if c, there := byName([]*storagev1.StorageClass{either, neither}, name); there {
			return c, true
		}
		return classes(name)
	}
	for name, refused := range map[string]int{"either": 0, "neither": 1, "late-either": 0, "late-neither": 1} {
		got := word(t, l, withClaims(name)).Shape
		if len(got.Unsupported) != refused {
			t.Errorf("%s: unsupported %q", name, got.Unsupported)
		}
		if want := "[[topology.kubernetes.io/zone In [a]]]"; refused == 0 && fmt.Sprint(got.Volumes) != want {
			t.Errorf("%s: %v, want %s", name, got.Volumes, want)
		}
	}
}

func TestVolumes_AClaimForOnePodAtATimeHoldsUpTheOthersWhileOneHasIt(t *testing.T) {
	forOne := func(c *corev1.PersistentVolumeClaim) {
		boundTo("pv-a")(c)
		c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	}
	running := func(p *corev1.Pod) { p.Spec.NodeName = "n" }
	for name, c := range map[string]struct {
		claim   func(*corev1.PersistentVolumeClaim)
		user    string // "" for nobody
		change  func(*corev1.Pod)
		refused int
	}{
		"another pod has it":                {forOne, "other", func(*corev1.Pod) {}, 1},
		"nobody has it":                     {forOne, "", func(*corev1.Pod) {}, 0},
		"the pod runs":                      {forOne, "other", running, 0},
		"another has it, and many may":      {boundTo("pv-a"), "other", func(*corev1.Pod) {}, 0},
		"another has it, and it is unbound": {func(c *corev1.PersistentVolumeClaim) { forOne(c); c.Spec.VolumeName = ""; ofClass("fast")(c) }, "other", func(*corev1.Pod) {}, 1},
	} {
		data := claim("data", c.claim)
		translate.NewKeeper().Keep(data)
		l := with(data)
		l.ClaimUser = func(_, name string, _ types.UID) (string, bool) { return c.user, c.user != "" && name == "data" }
		got := word(t, l, func(p *corev1.Pod) { withClaims("data")(p); c.change(p) }).Shape.Unsupported
		if len(got) != c.refused {
			t.Errorf("%s: %q, want %d reasons", name, got, c.refused)
		}
	}
}
