package difftest

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/fit"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// ours is what the core makes of a world.
type ours struct {
	snapshot cluster.Snapshot
	pending  []cluster.Pod
	index    map[string]int  // of pending, by name
	table    *topology.Table // all rules, a class for each pending pod
	pods     *topology.Table // the same without topology spread
}

func (w *world) lookups() translate.Lookups {
	return translate.Lookups{
		VolumeClaim: func(namespace, name string) (*corev1.PersistentVolumeClaim, bool) {
			c, ok := w.claims[namespace+"/"+name]
			return c, ok
		},
		Volume:       func(name string) (*corev1.PersistentVolume, bool) { v, ok := w.volumes[name]; return v, ok },
		StorageClass: func(name string) (*storagev1.StorageClass, bool) { c, ok := w.classes[name]; return c, ok },
	}
}

// objects reads the world as the daemon does.
func (w *world) objects(t *testing.T) cluster.Objects {
	t.Helper()
	var o cluster.Objects
	for _, n := range w.nodes {
		o.Nodes = append(o.Nodes, translate.Node(n, "", nil, nil))
	}
	for _, n := range namespaces() {
		o.Namespaces = append(o.Namespaces, cluster.Namespace{Name: n.Name, Labels: label.FromMap(n.Labels)})
	}
	for _, p := range w.pods {
		read, ok := translate.Pod(p, w.lookups())
		if !ok {
			t.Fatalf("pod %s is not ours", p.Name)
		}
		o.Pods = append(o.Pods, read)
	}
	return o
}

func newOurs(t *testing.T, w *world) *ours {
	t.Helper()
	o := w.objects(t)
	s, err := cluster.New(o)
	if err != nil {
		t.Fatal(err)
	}
	out := &ours{snapshot: s, index: map[string]int{}}
	var all, pods []topology.Class
	for _, p := range o.Pods {
		if p.Node == "" {
			out.index[p.Name] = len(out.pending)
			out.pending = append(out.pending, p)
			all = append(all, topology.Class{Namespace: p.Namespace, Labels: p.Labels, Shape: p.Shape})
			p.Shape.Spread = nil
			pods = append(pods, topology.Class{Namespace: p.Namespace, Labels: p.Labels, Shape: p.Shape})
		}
	}
	out.table, out.pods = new(topology.Known).Build(s, all, false), new(topology.Known).Build(s, pods, false) // as Kubernetes 1.36 does
	return out
}

// site is what a node has for pods.
type site struct {
	Labels label.Lookup
	Taints []cluster.Taint
	Free   quantity.Resources // allocatable less what is requested there
	Ports  []cluster.HostPort // taken by the pods there
}

// place is the node as the core sees it.
func (o *ours) place(n *cluster.NodeState) (site, topology.Place) {
	p := site{Labels: &n.Node.Labels, Taints: n.Node.Taints, Free: n.Free}
	for pod := range n.Pods() {
		p.Ports = append(p.Ports, pod.Shape.Ports...)
	}
	return p, topology.Place{Name: n.Node.Name, Labels: p.Labels, Taints: p.Taints}
}

// hopeless says that the required node affinity has only empty terms, which no
// node meets.
func (o *ours) hopeless(pod string) bool {
	return slices.ContainsFunc(o.pending[o.index[pod]].Shape.Unsupported, func(u string) bool { return strings.HasPrefix(u, "required nodeAffinity") })
}

// verdict says why the filter refuses the pending pod on the node.
func (o *ours) verdict(filter, pod, node string) string {
	i := o.index[pod]
	n, _ := o.snapshot.State(node)
	static, place := o.place(n)
	shape := &o.pending[i].Shape
	switch filter {
	case names.TaintToleration:
		if taint, kept := cluster.Untolerated(static.Taints, shape.Tolerations); kept {
			return taint.String()
		}
	case names.NodeAffinity:
		if o.hopeless(pod) {
			return "only empty terms"
		}
		if unmet, ok := fit.Affinity(shape, static.Labels); !ok {
			return unmet.String()
		}
	case names.NodePorts:
		if fit.PortsConflict(static.Ports, shape.Ports) {
			return "ports"
		}
	case names.NodeResourcesFit:
		if !shape.Requests.Fits(static.Free) {
			return "room"
		}
	case names.VolumeBinding:
		for _, u := range shape.Unsupported {
			if strings.Contains(u, "volume") {
				return u
			}
		}
		if unmet, ok := fit.Volumes(shape, static.Labels); !ok {
			return unmet.String()
		}
	case names.PodTopologySpread:
		if why := o.table.Why(i, place); strings.HasPrefix(why, "topology spread") {
			return why
		}
	case names.InterPodAffinity:
		return o.pods.Why(i, place)
	}
	return ""
}
