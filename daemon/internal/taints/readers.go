package taints

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// RemembersFor is how long after the last pod of a Job is removed its controller counts as
// there: a descheduler is often a CronJob, which runs once a day at the least.
const RemembersFor = 24 * time.Hour

// controller is one that acts on taints.
type controller struct {
	name   string
	images []string // last parts of the paths
	labels []string // values of the labels in namesIn
}

func controllers() []controller {
	return []controller{
		// RemovePodsViolatingNodeTaints is on by default.
		{"descheduler", []string{"descheduler"}, []string{"descheduler"}},
		{"cluster-autoscaler", []string{"cluster-autoscaler", "cluster-autoscaler-amd64", "cluster-autoscaler-arm64"}, []string{"cluster-autoscaler", "aws-cluster-autoscaler"}},
		{"Karpenter", []string{"karpenter/controller"}, nil}, // its label is not Karpenter's alone
	}
}

// namesIn are the labels that say what a pod is.
func namesIn() []string { return []string{"app.kubernetes.io/name", "app", "k8s-app"} }

// Readers knows the controllers of a cluster that act on taints. It is safe for concurrent
// use.
type Readers struct {
	now func() time.Time

	mu   sync.Mutex
	pods map[types.UID]string // the readers that pods are of, by UID
	last map[string]time.Time // by reader that runs as Jobs: when a pod of it was last seen
}

// NewReaders returns Readers that know of none. now is the clock; nil is the system's.
func NewReaders(now func() time.Time) *Readers {
	if now == nil {
		now = time.Now
	}
	return &Readers{now: now, pods: map[types.UID]string{}, last: map[string]time.Time{}}
}

// Observe looks at an object; only pods matter.
func (r *Readers) Observe(o metav1.Object) {
	p, is := o.(*corev1.Pod)
	if !is {
		return
	}
	owner := metav1.GetControllerOfNoCopy(p)
	ofJob, ended := owner != nil && owner.Kind == "Job", p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	reader := readerOf(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	if reader == "" || ended && !ofJob { // what has ended may stay for long, and does nothing
		delete(r.pods, p.UID)
		return
	}
	if r.pods[p.UID] = reader; ofJob {
		r.last[reader] = r.now()
	}
}

// Forget is told that the object is deleted, a pod as it was observed or as it was kept.
func (r *Readers) Forget(o metav1.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if reader, known := r.pods[o.GetUID()]; known {
		delete(r.pods, o.GetUID())
		if _, asJob := r.last[reader]; asJob {
			r.last[reader] = r.now()
		}
	}
}

// Found names one of the controllers, always the same as long as they are the same; empty if
// there is none.
func (r *Readers) Found() (reader string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	there := map[string]bool{}
	for _, x := range r.pods {
		there[x] = true
	}
	for x, at := range r.last {
		there[x] = there[x] || r.now().Before(at.Add(RemembersFor))
	}
	for x, is := range there {
		switch {
		case !is:
			delete(r.last, x)
		case reader == "" || x < reader:
			reader = x
		}
	}
	return reader
}

// readerOf names the controller that the pod is of; empty for none.
func readerOf(p *corev1.Pod) string {
	for _, c := range controllers() {
		named := slices.ContainsFunc(namesIn(), func(key string) bool { return slices.Contains(c.labels, p.Labels[key]) })
		if named || slices.ContainsFunc(p.Spec.Containers, func(x corev1.Container) bool { return c.runs(x.Image) }) {
			return fmt.Sprintf("%s in namespace %s", c.name, p.Namespace)
		}
	}
	return ""
}

// runs says whether the image is one of the controller.
func (c controller) runs(image string) bool {
	repository := "/" + install.ParseImage(image).Repository
	return slices.ContainsFunc(c.images, func(x string) bool { return strings.HasSuffix(repository, "/"+x) })
}
