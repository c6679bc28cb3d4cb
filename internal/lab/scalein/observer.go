package scalein

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// evictedReason is that of the condition DisruptionTarget which the API server gives
// to a pod that is evicted through the eviction API.
const evictedReason = "EvictionByEvictionAPI"

// observer keeps what happens to pods and instances. Safe for concurrent use.
type observer struct {
	market catalog.Market

	mu        sync.Mutex
	instances map[string]quantity.Money // pending and running ones, with their price
	volumes   map[string]quantity.Money // of the same
	pods      map[types.UID]bool        // those that are not gone; whether it runs
	changed   time.Time                 // when an instance was launched or ended, or a pod was evicted

	recording time.Time // when record was called
	lastEnd   time.Time // of a pod that was there then, and that nobody evicted
	launches  int
	ends      int
	evictions int
	again     int // evictions of pods that were created after record was called
}

// observe begins to watch.
func observe(ctx context.Context, l *lab.Lab, core kubernetes.Interface) (*observer, error) {
	_, market, err := embedded.Load(l.Region)
	if err != nil {
		return nil, err
	}
	o := &observer{market: market, instances: map[string]quantity.Money{}, volumes: map[string]quantity.Money{}, pods: map[types.UID]bool{}, changed: time.Now()}
	l.Cloud.EC2.Watch(o.instance)
	factory := informers.NewSharedInformerFactoryWithOptions(core, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(x any) { o.pod(x) },
		UpdateFunc: func(_, x any) { o.pod(x) },
		DeleteFunc: func(x any) { o.podGone(x) },
	})
	if err != nil {
		return nil, fmt.Errorf("pods watch: %w", err)
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return nil, fmt.Errorf("pods watch: %w", ctx.Err())
	}
	return o, nil
}

func (o *observer) instance(i ec2sim.Instance, old, now ec2sim.State) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case old == "":
		o.instances[i.ID] = o.market.OnDemand[i.Type]
		o.volumes[i.ID] = o.market.Volumes.Hourly(catalog.Volume{Type: catalog.GP3, GiB: i.DataVolumeGiB})
		o.launches++
	case now == ec2sim.StateShuttingDown:
		delete(o.instances, i.ID)
		delete(o.volumes, i.ID)
		o.ends++
	default:
		return
	}
	o.changed = time.Now()
}

func (o *observer) pod(x any) {
	p, ok := x.(*corev1.Pod)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pods[p.UID] = p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
}

func (o *observer) podGone(x any) {
	if missed, ok := x.(cache.DeletedFinalStateUnknown); ok {
		x = missed.Obj
	}
	p, ok := x.(*corev1.Pod)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.pods, p.UID)
	// Times of objects are whole seconds.
	later := !o.recording.IsZero() && p.CreationTimestamp.After(o.recording)
	switch {
	case evicted(p):
		o.changed = time.Now()
		o.evictions++
		if later {
			o.again++
		}
	case !later:
		o.lastEnd = time.Now()
	}
}

func evicted(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == evictedReason {
			return true
		}
	}
	return false
}

// record counts from now on.
func (o *observer) record() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recording, o.launches, o.ends, o.evictions, o.again = time.Now(), 0, 0, 0, 0
}

// moved is when the fleet changed last.
func (o *observer) moved() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.changed
}

// ended is when the scale-down ended its last pod.
func (o *observer) ended() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lastEnd
}

// now is the fleet at this moment.
func (o *observer) now() sample {
	o.mu.Lock()
	defer o.mu.Unlock()
	s := sample{at: time.Now(), Instances: len(o.instances), Launches: o.launches, Evictions: o.evictions}
	var cost, volumes quantity.Money
	for id, price := range o.instances {
		cost, volumes = cost.Add(price), volumes.Add(o.volumes[id])
	}
	s.Cost, s.Volumes = dollars(cost), dollars(volumes)
	for _, runs := range o.pods {
		if runs {
			s.Running++
		} else {
			s.Waiting++
		}
	}
	return s
}

func dollars(m quantity.Money) float64 { return float64(m) / float64(quantity.NanoDollars) }
