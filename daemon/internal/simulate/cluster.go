package simulate

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/dump"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Cluster is the objects of one cluster.
type Cluster struct {
	keeper *translate.Keeper
	newest time.Time // that any object says of what has happened

	nodes       map[string]*corev1.Node
	pools       map[string]*v1.NodePool
	claims      map[string]*v1.NodeClaim
	classes     map[string]*awsv1.EC2NodeClass
	deployments map[string]*appsv1.Deployment
	sets        map[string]*appsv1.ReplicaSet
	stateful    map[string]*appsv1.StatefulSet
	budgets     map[string]*policyv1.PodDisruptionBudget
	others      map[string]metav1.Object // by type and name
	uncarried   []Uncarried
	notes       []string
	numbers     map[string]int // by type and name: which of the input's objects it is
}

// NewCluster returns a cluster without objects.
func NewCluster() *Cluster {
	return &Cluster{
		keeper: translate.NewKeeper(), nodes: map[string]*corev1.Node{}, pools: map[string]*v1.NodePool{}, claims: map[string]*v1.NodeClaim{},
		classes: map[string]*awsv1.EC2NodeClass{}, deployments: map[string]*appsv1.Deployment{}, sets: map[string]*appsv1.ReplicaSet{},
		stateful: map[string]*appsv1.StatefulSet{}, budgets: map[string]*policyv1.PodDisruptionBudget{}, others: map[string]metav1.Object{}, numbers: map[string]int{},
	}
}

// Note adds something that the reader of the report has to know.
func (c *Cluster) Note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// AddNumbered adds an object of a dump. Of two with one kind and name the one with the greater
// number counts, in whatever order they come.
func (c *Cluster) AddNumbered(number int, object metav1.Object) {
	key := fmt.Sprintf("%T %s", object, nameOf(object))
	if last, there := c.numbers[key]; there && last > number {
		return
	}
	c.numbers[key] = number
	c.Add(object)
}

// nameOf is namespace/name. Objects of manifests that have no namespace are in "default".
func nameOf(object metav1.Object) string {
	switch object.(type) {
	case *corev1.Node, *corev1.Namespace, *corev1.PersistentVolume, *storagev1.StorageClass, *storagev1.CSINode, *storagev1.VolumeAttachment,
		*schedulingv1.PriorityClass, *nodev1.RuntimeClass, *v1.NodePool, *v1.NodeClaim, *awsv1.EC2NodeClass:
	default:
		if object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// Add adds an object, or puts it in place of the one with its kind and name.
func (c *Cluster) Add(object metav1.Object) {
	c.saw(object.GetCreationTimestamp().Time)
	name := nameOf(object)
	switch o := object.(type) {
	case *corev1.Node:
		for _, x := range o.Status.Conditions {
			c.saw(x.LastHeartbeatTime.Time)
		}
		c.keeper.Keep(o)
		c.nodes[o.Name] = o
	case *v1.NodePool:
		c.pools[o.Name] = o
	case *v1.NodeClaim:
		if t := o.Status.LastPodEventTime; t != nil {
			c.saw(t.Time)
		}
		c.claims[o.Name] = o
	case *awsv1.EC2NodeClass:
		c.classes[o.Name] = o
	case *appsv1.Deployment:
		c.deployments[name] = o
	case *appsv1.ReplicaSet:
		if was := c.sets[name]; was != nil && o.UID == "" {
			o.UID, o.OwnerReferences = was.UID, was.OwnerReferences
		}
		if replicas(o) > 0 { // else it would keep no template to scale it by
			c.keeper.Keep(o)
		}
		c.sets[name] = o
	case *appsv1.StatefulSet:
		if was := c.stateful[name]; was != nil && o.UID == "" {
			o.UID = was.UID
		}
		// Its controller makes one pod after the other, all of them soon.
		o.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		c.keeper.Keep(o)
		c.stateful[name] = o
	case *policyv1.PodDisruptionBudget:
		c.budgets[name] = o
	default:
		c.others[fmt.Sprintf("%T %s", object, name)] = c.keeper.Compact(object)
	}
}

// saw moves the clock of a dump on to what one of its objects says has happened. So nothing that has
// happened is yet to come, such as the last pod of a node: the node would be left out of the first
// search, which plans for all.
func (c *Cluster) saw(t time.Time) {
	if t.After(c.newest) {
		c.newest = t
	}
}

// AddFound adds what was found in files beside objects that decisions read: objects of older
// versions of Karpenter's APIs, and of kinds that the daemon does not carry out.
func (c *Cluster) AddFound(f *dump.Found) error {
	for _, err := range slices.SortedFunc(slices.Values(f.Faults), func(a, b error) int { return strings.Compare(a.Error(), b.Error()) }) {
		c.Note("%v", err)
	}
	if missing := f.Missing(); len(missing) > 0 {
		c.Note("not in the input: %s; what the cluster has of these does not count", strings.Join(missing, ", "))
	}
	return c.AddOlder(f)
}

// AddOlder adds what was found of older versions of Karpenter's APIs, and of kinds that the daemon
// does not carry out.
func (c *Cluster) AddOlder(f *dump.Found) error {
	var older []legacy.Source
	slices.SortFunc(f.Older, func(a, b dump.Text) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), strings.Compare(string(a.Text), string(b.Text)))
	})
	for _, x := range f.Older {
		if !slices.ContainsFunc(legacy.UncarriedKinds(), func(u legacy.Uncarried) bool { return u.Kind == x.Kind.Kind }) {
			older = append(older, legacy.Source{Name: x.Source, Text: string(x.Text)})
		}
	}
	for _, u := range legacy.UncarriedKinds() {
		n := 0
		for k, count := range f.Kinds {
			if k.Kind == u.Kind && strings.HasPrefix(k.APIVersion, u.Group+"/") {
				n += count
			}
		}
		if n > 0 {
			c.uncarried = append(c.uncarried, Uncarried{Object: fmt.Sprintf("%d of kind %s", n, u.Kind), What: u.Effect, Remedy: u.Remedy})
		}
	}
	if len(older) == 0 {
		return nil
	}
	result := legacy.Convert(older, legacy.Options{Role: "karpenterd"})
	for _, p := range slices.Concat(result.Errors, pick.Those(result.Warnings, func(p legacy.Problem) bool { return p.Lost })) {
		c.uncarried = append(c.uncarried, Uncarried{Object: p.Object, Field: p.Field, What: p.What, Remedy: p.Remedy})
	}
	text, err := result.YAML()
	if err != nil {
		return fmt.Errorf("objects of Karpenter's older APIs convert: %w", err)
	}
	if text == "" {
		return nil // as of an AWSNodeTemplate that no Provisioner has
	}
	lives := livesOf(f.Older)
	converted := dump.Found{Objects: func(_ int, o metav1.Object) {
		if !c.has(o) {
			c.Add(lives.of(o))
		}
	}}
	return converted.ReadText("objects converted to v1", text)
}

// has says whether the cluster has the object of Karpenter already.
func (c *Cluster) has(object metav1.Object) (there bool) {
	switch object.(type) {
	case *v1.NodePool:
		_, there = c.pools[object.GetName()]
	case *v1.NodeClaim:
		_, there = c.claims[object.GetName()]
	case *awsv1.EC2NodeClass:
		_, there = c.classes[object.GetName()]
	}
	return there
}

// region is the one of the nodes; "" where none says it.
func (c *Cluster) region() string {
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		if region := c.nodes[name].Labels[label.Region]; region != "" {
			return region
		}
	}
	for _, zone := range c.zones() {
		return strings.TrimRight(zone, "abcdefghijklmnopqrstuvwxyz")
	}
	return ""
}

// zones are those of the nodes, sorted.
func (c *Cluster) zones() []string {
	all := map[string]bool{}
	for _, n := range c.nodes {
		if zone := n.Labels[label.Zone]; zone != "" {
			all[zone] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Scale sets the replicas of a workload.
type Scale struct {
	Kind, Namespace, Name string
	Replicas              int32
}

// ParseScale reads kind/namespace/name=N.
func ParseScale(text string) (Scale, error) {
	var s Scale
	what, count, has := strings.Cut(text, "=")
	parts := strings.Split(what, "/")
	if _, err := fmt.Sscanf(count, "%d", &s.Replicas); err != nil || !has || len(parts) != 3 || s.Replicas < 0 || fmt.Sprint(s.Replicas) != count {
		return s, fmt.Errorf("--scale %q: want KIND/NAMESPACE/NAME=N, such as deployment/shop/web=10", text)
	}
	s.Kind, s.Namespace, s.Name = strings.ToLower(parts[0]), parts[1], parts[2]
	return s, nil
}

// scale sets the replicas. Pods that are too many go: the newest that do not run, then the newest.
func (c *Cluster) scale(s Scale) error {
	name := s.Namespace + "/" + s.Name
	switch strings.TrimSuffix(s.Kind, "s") {
	case "deployment", "deploy":
		set := c.setOf(name)
		if set == nil {
			return fmt.Errorf("--scale %s/%s: there is no such Deployment with a ReplicaSet; the names are as in kubectl get deployments,replicasets", s.Kind, name)
		}
		set.Spec.Replicas = &s.Replicas
		c.thin(set.UID, int(s.Replicas))
		return nil
	case "replicaset", "r":
		if set := c.sets[name]; set != nil {
			set.Spec.Replicas = &s.Replicas
			c.thin(set.UID, int(s.Replicas))
			return nil
		}
	case "statefulset", "st":
		if set := c.stateful[name]; set != nil {
			set.Spec.Replicas = &s.Replicas
			c.thinByOrdinal(set)
			return nil
		}
	default:
		return fmt.Errorf("--scale %s/%s: %q cannot be scaled: give a deployment, a replicaset or a statefulset", s.Kind, name, s.Kind)
	}
	return fmt.Errorf("--scale %s/%s: there is none of this name", s.Kind, name)
}

// setOf is the ReplicaSet of the Deployment that has replicas; nil if there is none.
func (c *Cluster) setOf(deployment string) (best *appsv1.ReplicaSet) {
	namespace, name, _ := strings.Cut(deployment, "/")
	for _, key := range slices.Sorted(maps.Keys(c.sets)) {
		set := c.sets[key]
		owner := metav1.GetControllerOf(set)
		if set.Namespace != namespace || owner == nil || owner.Kind != "Deployment" || owner.Name != name {
			continue
		}
		if best == nil || replicas(set) > replicas(best) || replicas(set) == replicas(best) && set.CreationTimestamp.After(best.CreationTimestamp.Time) {
			best = set
		}
	}
	return best
}

// rollOut gives the ReplicaSet of the Deployment what the Deployment says, and makes all its pods
// anew: the rollout is over at once.
func (c *Cluster) rollOut(d *appsv1.Deployment) {
	set := c.setOf(d.Namespace + "/" + d.Name)
	if set == nil {
		return // ownSets makes one
	}
	c.thin(set.UID, 0)
	set.Spec.Replicas, set.Spec.Template = d.Spec.Replicas, d.Spec.Template
}

func replicas(set *appsv1.ReplicaSet) int32 {
	if set.Spec.Replicas == nil {
		return 1
	}
	return *set.Spec.Replicas
}

// thin removes pods of the controller until so many are left.
func (c *Cluster) thin(controller types.UID, most int) {
	var pods []*translate.CompactPod
	var names []string
	for name, p := range c.podsOf(controller) {
		pods, names = append(pods, p), append(names, name)
	}
	if len(pods) <= most {
		return
	}
	order := make([]int, len(pods))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { // those that stay come first
		x, y := pods[a], pods[b]
		if runs := (x.Node() != ""); runs != (y.Node() != "") {
			if runs {
				return -1
			}
			return 1
		}
		return cmp.Or(x.CreationTimestamp.Compare(y.CreationTimestamp.Time), strings.Compare(names[a], names[b]))
	})
	for _, i := range order[most:] {
		delete(c.others, names[i])
	}
}

// thinByOrdinal removes the pods of the StatefulSet that it does not declare any more: those with
// the highest numbers.
func (c *Cluster) thinByOrdinal(set *appsv1.StatefulSet) {
	first := int64(0)
	if set.Spec.Ordinals != nil {
		first = int64(set.Spec.Ordinals.Start)
	}
	for key, p := range c.podsOf(set.UID) {
		number, err := strconv.ParseInt(strings.TrimPrefix(p.Name, set.Name+"-"), 10, 64)
		if err == nil && number >= first+int64(*set.Spec.Replicas) {
			delete(c.others, key)
		}
	}
}

// pods goes through the pods, with their keys in others, in no order. They may be deleted meanwhile.
func (c *Cluster) pods() iter.Seq2[string, *translate.CompactPod] {
	return func(yield func(string, *translate.CompactPod) bool) {
		for key, o := range c.others {
			if p, is := o.(*translate.CompactPod); is && !yield(key, p) {
				return
			}
		}
	}
}

// podsOf are those that the controller owns.
func (c *Cluster) podsOf(controller types.UID) iter.Seq2[string, *translate.CompactPod] {
	return func(yield func(string, *translate.CompactPod) bool) {
		for key, p := range c.pods() {
			if owner := metav1.GetControllerOf(p); owner != nil && owner.UID == controller && !yield(key, p) {
				return
			}
		}
	}
}
