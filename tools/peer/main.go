package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	requirements "sigs.k8s.io/karpenter/pkg/scheduling"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var q question
	asked := json.NewDecoder(in)
	asked.DisallowUnknownFields() // a part of the question that is not heard is another question
	if err := asked.Decode(&q); err != nil {
		return fmt.Errorf("question read: %w", err)
	}
	decide := answerOf
	if len(q.Nodes) > 0 {
		decide = consolidate
	}
	a, err := decide(q)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(a); err != nil {
		return fmt.Errorf("answer write: %w", err)
	}
	return nil
}

// answerOf has the scheduler decide once, which is the answer, and a few times
// more, for the time that it takes then.
func answerOf(q question) (answer, error) {
	const times, enough = 5, 5 * time.Second
	a, cold, err := solve(q)
	if err != nil {
		return answer{}, err
	}
	var warm []time.Duration
	for begun := time.Now(); len(warm) == 0 || len(warm) < times && time.Since(begun) < enough; {
		_, took, err := solve(q)
		if err != nil {
			return answer{}, err
		}
		warm = append(warm, took)
	}
	slices.Sort(warm)
	a.Version, a.Cold, a.Warm = version(), cold.Seconds(), warm[len(warm)/2].Seconds()
	return a, nil
}

// version is the release of Karpenter that this program is built with.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == "sigs.k8s.io/karpenter" {
			if m.Replace != nil {
				m = m.Replace
			}
			return m.Version
		}
	}
	return ""
}

// solve sets the scheduler up as Karpenter's own benchmark does, with its number
// of threads, and without the deadline of a minute that its provisioner sets. The
// time is of Solve alone.
func solve(q question) (answer, time.Duration, error) {
	log.SetLogger(logging.NopLogger)
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "provisioner"), &options.Options{
		CPURequests: 5000, PreferencePolicy: options.PreferencePolicyRespect, MinValuesPolicy: options.MinValuesPolicyStrict,
		IgnoreDRARequests: true, FeatureGates: options.DefaultFeatureGates(),
	})
	pods := make([]*corev1.Pod, len(q.Pods)) // each time anew: nothing may be left over in them
	for i, p := range q.Pods {
		pods[i] = p.DeepCopy()
	}
	pool := nodePool(q.Requirements)
	types := map[string][]*cloudprovider.InstanceType{pool.Name: instanceTypes(q.Types)}
	// The cluster has no nodes, so it never asks a cloud.
	client, now := fake.NewFakeClient(), clock.RealClock{}
	cluster := state.NewCluster(now, client, nil)
	threads := scheduling.NumConcurrentReconciles(5)
	pools := []*v1.NodePool{pool}
	topology, err := scheduling.NewTopology(ctx, client, cluster, nil, pools, types, pods, threads)
	if err != nil {
		return answer{}, 0, fmt.Errorf("topology make: %w", err)
	}
	s := scheduling.NewScheduler(ctx, client, pools, cluster, nil, topology, types, q.Daemons,
		events.NewRecorder(&record.FakeRecorder{}), now, nil, nil, threads)

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	results, err := s.Solve(ctx, pods)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		return answer{}, 0, fmt.Errorf("solve: %w", err)
	}
	a := answer{Allocated: after.TotalAlloc - before.TotalAlloc}
	for _, claim := range results.NewNodeClaims {
		n, err := launched(claim)
		if err != nil {
			return answer{}, 0, err
		}
		a.Nodes = append(a.Nodes, n)
	}
	for pod := range results.PodErrors {
		a.Unplaced = append(a.Unplaced, id(pod))
	}
	slices.Sort(a.Unplaced)
	return a, took, nil
}

func nodePool(reqs []corev1.NodeSelectorRequirement) *v1.NodePool {
	pool := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "bench", UID: "bench"}}
	pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "bench"}
	for _, r := range reqs {
		pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements,
			v1.NodeSelectorRequirementWithMinValues{Key: r.Key, Operator: r.Operator, Values: r.Values})
	}
	return pool
}

func instanceTypes(in []instanceType) []*cloudprovider.InstanceType {
	out := make([]*cloudprovider.InstanceType, 0, len(in))
	for _, t := range in {
		its := &cloudprovider.InstanceType{
			Name: t.Name, Requirements: requirements.NewLabelRequirements(t.Labels), Capacity: t.Capacity,
			Overhead: &cloudprovider.InstanceTypeOverhead{KubeReserved: t.Reserved},
		}
		var zones, capacityTypes []string
		for _, o := range t.Offers {
			zones, capacityTypes = append(zones, o.Zone), append(capacityTypes, o.CapacityType)
			its.Offerings = append(its.Offerings, &cloudprovider.Offering{
				Available: true, Price: o.Price,
				Requirements: requirements.NewLabelRequirements(map[string]string{corev1.LabelTopologyZone: o.Zone, v1.CapacityTypeLabelKey: o.CapacityType}),
			})
		}
		its.Requirements.Add(requirements.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zones...),
			requirements.NewRequirement(v1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityTypes...))
		out = append(out, its)
	}
	return out
}

// launched is the claim at its cheapest: the launch that its cost is counted at.
func launched(claim *scheduling.NodeClaim) (node, error) {
	var n node
	var zones []string
	for _, t := range claim.InstanceTypeOptions {
		offers := t.Offerings.Available().Compatible(claim.Requirements)
		for _, o := range offers {
			zones = append(zones, o.Zone())
			if n.Type == "" || cmp.Or(cmp.Compare(o.Price, n.Price), cmp.Compare(t.Name, n.Type)) < 0 {
				n.Type, n.Price = t.Name, o.Price
			}
		}
	}
	if n.Type == "" {
		return node{}, fmt.Errorf("claim price: no offering admits its requirements %s", claim.Requirements)
	}
	slices.Sort(zones)
	n.Zones = slices.Compact(zones)
	for _, p := range claim.Pods {
		n.Pods = append(n.Pods, id(p))
	}
	return n, nil
}

func id(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
