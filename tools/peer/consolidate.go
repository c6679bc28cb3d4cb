package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/awslabs/operatorpkg/status"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/disruption"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/injection"
	"sigs.k8s.io/karpenter/pkg/operator/logging"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/test/v1alpha1"
)

// longest is how long the disruption methods may decide in all.
const longest = 10 * time.Minute

// fleet is the cluster while it is consolidated. Each command is carried out at once.
type fleet struct {
	client.Client // nothing but what List answers is in it

	pool    v1.NodePool
	daemons appsv1.DaemonSetList
	types   []*cloudprovider.InstanceType
	nodes   []standing
	pods    map[string][]*corev1.Pod // by node
	made    int
}

// consolidate has the disruption methods decide, in the order of the disruption
// controller, until none of them finds anything to do. The time of a decision includes the
// candidates and budgets, as the controller makes them anew for each.
func consolidate(q question) (answer, error) {
	log.SetLogger(logging.NopLogger)
	ctx := options.ToContext(injection.WithControllerName(context.Background(), "disruption"), &options.Options{
		CPURequests: 5000, PreferencePolicy: options.PreferencePolicyRespect, MinValuesPolicy: options.MinValuesPolicyStrict,
		IgnoreDRARequests: true, FeatureGates: options.DefaultFeatureGates(),
	})
	f := newFleet(q)
	a := answer{Version: version()}
	var took []float64
	for {
		began := time.Now()
		cmd, err := f.decide(ctx)
		seconds := time.Since(began).Seconds()
		if err != nil {
			return answer{}, err
		}
		took = append(took, seconds)
		a.Total += seconds
		if cmd == nil {
			break
		}
		a.Commands++
		if err := f.apply(*cmd); err != nil {
			return answer{}, err
		}
		if a.Total > longest.Seconds() {
			a.Cut = true
			break
		}
	}
	a.Cold = took[0]
	slices.Sort(took)
	a.Warm = took[len(took)/2]
	for _, n := range f.nodes {
		price, err := f.price(n)
		if err != nil {
			return answer{}, err
		}
		out := node{Type: n.Type, Price: price, Zones: []string{n.Zone}}
		for _, p := range f.pods[n.Name] {
			out.Pods = append(out.Pods, id(p))
		}
		a.Nodes = append(a.Nodes, out)
	}
	return a, nil
}

func newFleet(q question) *fleet {
	f := &fleet{Client: fake.NewFakeClient(), pool: *nodePool(q.Requirements), types: instanceTypes(q.Types), nodes: q.Nodes, pods: map[string][]*corev1.Pod{}}
	atOnce := v1.MustParseNillableDuration("0s")
	f.pool.Spec.Template.Spec.NodeClassRef = &v1.NodeClassReference{Group: v1alpha1.Group, Kind: "TestNodeClass", Name: "bench"}
	f.pool.Spec.Disruption = v1.Disruption{
		ConsolidateAfter: atOnce, ConsolidationPolicy: v1.ConsolidationPolicyWhenEmptyOrUnderutilized, Budgets: []v1.Budget{{Nodes: q.Budget}},
	}
	f.pool.StatusConditions().SetTrue(status.ConditionReady)
	for _, p := range q.Daemons {
		f.daemons.Items = append(f.daemons.Items, appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID},
			Spec:       appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels}, Spec: p.Spec}},
		})
	}
	for _, p := range q.Pods {
		p.Status.Phase = corev1.PodRunning
		f.pods[p.Spec.NodeName] = append(f.pods[p.Spec.NodeName], p)
	}
	return f
}

// List answers as the cached client of the controller does: with copies, by index.
func (f *fleet) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	switch list := list.(type) {
	case *corev1.PodList:
		if o.FieldSelector == nil {
			return fmt.Errorf("pods list: by node only")
		}
		if name, ok := o.FieldSelector.RequiresExactMatch("spec.nodeName"); ok && name != "" {
			for _, p := range f.pods[name] {
				list.Items = append(list.Items, *p.DeepCopy())
			}
		}
	case *v1.NodePoolList:
		list.Items = []v1.NodePool{*f.pool.DeepCopy()}
	case *appsv1.DaemonSetList:
		f.daemons.DeepCopyInto(list)
	default:
		return f.Client.List(ctx, list, opts...)
	}
	return nil
}

// cloud knows types, and nothing else is asked of it.
type cloud struct {
	cloudprovider.CloudProvider

	types []*cloudprovider.InstanceType
}

func (c cloud) GetInstanceTypes(context.Context, *v1.NodePool) ([]*cloudprovider.InstanceType, error) {
	return c.types, nil
}

func (cloud) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&v1alpha1.TestNodeClass{}}
}
func (cloud) Name() string { return "bench" }

// agree is a validator without the 15 seconds for which the controller watches whether
// anything changes: nothing does.
type agree struct{}

func (agree) Validate(_ context.Context, c disruption.Command, _ time.Duration) (disruption.Command, error) {
	return c, nil
}

// decide returns the first command that a method finds; nil if there is none.
func (f *fleet) decide(ctx context.Context) (*disruption.Command, error) {
	now, recorder, cp := clock.RealClock{}, events.NewRecorder(&record.FakeRecorder{}), cloud{types: f.types}
	cluster := state.NewCluster(now, f, cp)
	for _, n := range f.nodes {
		claim, node := f.objects(n)
		cluster.UpdateNodeClaim(claim)
		if err := cluster.UpdateNode(ctx, node); err != nil {
			return nil, fmt.Errorf("node %s index: %w", n.Name, err)
		}
	}
	provisioner := provisioning.NewProvisioner(f, recorder, cp, cluster, now, nil, nil)
	queue := disruption.NewQueue(f, recorder, cluster, now, provisioner)
	c := disruption.MakeConsolidation(now, cluster, f, provisioner, cp, recorder, queue)
	yes := disruption.WithValidator(agree{})
	for _, m := range []disruption.Method{
		disruption.NewEmptiness(c, yes), disruption.NewMultiNodeConsolidation(c, yes), disruption.NewSingleNodeConsolidation(c, yes),
	} {
		candidates, totals, err := disruption.GetCandidatesWithTotals(ctx, cluster, f, recorder, now, cp, m.ShouldDisrupt, m.Class(), queue, nil)
		if err != nil {
			return nil, fmt.Errorf("candidates find: %w", err)
		}
		if len(candidates) == 0 {
			continue
		}
		if setter, ok := m.(disruption.NodePoolTotalsSetter); ok {
			setter.SetNodePoolTotals(totals)
		}
		budgets, err := disruption.BuildDisruptionBudgetMapping(ctx, cluster, now, f, cp, recorder, m.Reason())
		if err != nil {
			return nil, fmt.Errorf("budgets make: %w", err)
		}
		commands, err := m.ComputeCommands(ctx, budgets, candidates...)
		if err != nil {
			return nil, fmt.Errorf("commands compute: %w", err)
		}
		for i := range commands {
			if commands[i].Decision() != disruption.NoOpDecision {
				return &commands[i], nil
			}
		}
	}
	return nil, nil //nolint:nilnil // nothing to do is no error
}

// objects are the NodeClaim and the Node.
func (f *fleet) objects(n standing) (*v1.NodeClaim, *corev1.Node) {
	t := f.typeOf(n.Type)
	labels := map[string]string{
		v1.NodePoolLabelKey: f.pool.Name, corev1.LabelHostname: n.Name, corev1.LabelTopologyZone: n.Zone, v1.CapacityTypeLabelKey: n.CapacityType,
		v1.NodeRegisteredLabelKey: "true", v1.NodeInitializedLabelKey: "true", corev1.LabelInstanceTypeStable: n.Type,
	}
	for key, r := range t.Requirements {
		if values := r.Values(); len(values) == 1 && labels[key] == "" {
			labels[key] = values[0]
		}
	}
	created := metav1.NewTime(time.Now().Add(-time.Hour))
	claim := &v1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels, CreationTimestamp: created},
		Spec:       v1.NodeClaimSpec{NodeClassRef: f.pool.Spec.Template.Spec.NodeClassRef},
		Status:     v1.NodeClaimStatus{ProviderID: "bench:///" + n.Name, NodeName: n.Name, Capacity: t.Capacity, Allocatable: t.Allocatable()},
	}
	for _, c := range []string{v1.ConditionTypeLaunched, v1.ConditionTypeRegistered, v1.ConditionTypeInitialized, v1.ConditionTypeConsolidatable} {
		claim.StatusConditions().SetTrue(c)
	}
	return claim, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: labels, CreationTimestamp: created},
		Spec:       corev1.NodeSpec{ProviderID: claim.Status.ProviderID},
		Status: corev1.NodeStatus{
			Capacity: t.Capacity, Allocatable: t.Allocatable(), Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

func (f *fleet) typeOf(name string) *cloudprovider.InstanceType {
	return f.types[slices.IndexFunc(f.types, func(t *cloudprovider.InstanceType) bool { return t.Name == name })]
}

func (f *fleet) price(n standing) (float64, error) {
	for _, o := range f.typeOf(n.Type).Offerings {
		if o.Zone() == n.Zone && o.CapacityType() == n.CapacityType {
			return o.Price, nil
		}
	}
	return 0, fmt.Errorf("node %s: %s in %s has no price", n.Name, n.Type, n.Zone)
}

// apply carries the command out: each replacement comes up as the cheapest of its
// offerings.
func (f *fleet) apply(cmd disruption.Command) error {
	going := map[string]bool{}
	missing := 0
	for _, c := range cmd.Candidates {
		going[c.Name()] = true
		missing += len(f.pods[c.Name()])
		delete(f.pods, c.Name())
	}
	f.nodes = slices.DeleteFunc(f.nodes, func(n standing) bool { return going[n.Name] })
	put := func(on string, pods []*corev1.Pod) {
		for _, p := range pods {
			p = p.DeepCopy()
			p.Spec.NodeName = on
			f.pods[on] = append(f.pods[on], p)
			missing--
		}
	}
	for _, x := range cmd.Results.ExistingNodes {
		put(x.Name(), x.Pods)
	}
	for _, r := range cmd.Replacements {
		n, err := f.comeUp(r.NodeClaim)
		if err != nil {
			return err
		}
		f.nodes = append(f.nodes, n)
		put(n.Name, r.Pods)
	}
	if missing != 0 {
		return fmt.Errorf("command %s apply: %d pods have no place", cmd, missing)
	}
	return nil
}

func (f *fleet) comeUp(claim *scheduling.NodeClaim) (standing, error) {
	best, err := launched(claim)
	if err != nil {
		return standing{}, err
	}
	f.made++
	n := standing{Name: fmt.Sprintf("made-%d", f.made), Type: best.Type}
	for _, o := range f.typeOf(best.Type).Offerings.Available().Compatible(claim.Requirements) {
		if o.Price == best.Price {
			n.Zone, n.CapacityType = o.Zone(), o.CapacityType()
		}
	}
	return n, nil
}
