package difftest

import (
	"context"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// filters are the plugins that are compared.
func filters() []string {
	return []string{names.TaintToleration, names.NodeAffinity, names.NodePorts, names.NodeResourcesFit, names.VolumeBinding, names.PodTopologySpread, names.InterPodAffinity}
}

// scheduler runs filter plugins of the kube-scheduler on a world.
type scheduler struct {
	snapshot  *cache.Snapshot
	framework framework.Framework
}

var registerMetrics = sync.OnceFunc(metrics.Register)

// newScheduler sets up a profile with the given plugins only. It looks up what
// pods refer to in all of the worlds.
func newScheduler(t *testing.T, worlds []*world, enabled ...string) *scheduler {
	t.Helper()
	registerMetrics()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	config, err := latest.Default()
	if err != nil {
		t.Fatal(err)
	}
	profile := config.Profiles[0]
	// The weights stay those of the default profile.
	profile.Plugins.MultiPoint.Enabled = slices.DeleteFunc(profile.Plugins.MultiPoint.Enabled, func(p schedulerconfig.Plugin) bool {
		return !slices.Contains(append([]string{names.PrioritySort, names.DefaultBinder}, enabled...), p.Name)
	})
	client := fake.NewSimpleClientset(others(worlds)...)
	factory := informers.NewSharedInformerFactory(client, 0)
	s := &scheduler{snapshot: cache.NewEmptySnapshot()}
	s.framework, err = frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile,
		frameworkruntime.WithClientSet(client), frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(s.snapshot))
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return s
}

// bound returns the pods that the scheduler's cache has.
func (w *world) bound() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(w.pods), func(p *corev1.Pod) bool { return p.Spec.NodeName == "" })
}

func (w *world) pending() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(w.pods), func(p *corev1.Pod) bool { return p.Spec.NodeName != "" })
}

// see looks at this world, as it is now.
func (s *scheduler) see(w *world) { *s.snapshot = *cache.NewSnapshot(w.bound(), w.nodes) }

// verdicts returns for each node why the plugins refuse the pod there: the empty
// text where they accept it.
func (s *scheduler) verdicts(t *testing.T, w *world, p *corev1.Pod) []string {
	t.Helper()
	out := make([]string, len(w.nodes))
	state := framework.NewCycleState()
	found, status, _ := s.framework.RunPreFilterPlugins(t.Context(), state, p)
	for i, n := range w.nodes {
		switch {
		case !status.IsSuccess():
			out[i] = status.Message()
			continue
		case !found.AllNodes() && !found.NodeNames.Has(n.Name):
			out[i] = "not among the nodes that PreFilter leaves"
			continue
		}
		info, err := s.snapshot.NodeInfos().Get(n.Name)
		if err != nil {
			t.Fatal(err)
		}
		if st := s.framework.RunFilterPlugins(t.Context(), state, p, info); !st.IsSuccess() {
			out[i] = st.Message()
			if out[i] == "" {
				out[i] = st.Code().String()
			}
		}
	}
	return out
}
