package size

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/hashicorp/go-hclog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// What is required of a fleet of 500 nodes, and what is better.
const (
	upRequired, upGoal             = 2 * time.Minute, time.Minute
	callsRequired, callsGoal       = 10.0, 5.0 // a second
	besideRequired, besideGoal     = time.Second, 500 * time.Millisecond
	fleetPool, besidePool          = "fleet", "beside"
	fleetPatience                  = 15 * time.Minute
	launchEvery                    = 5 * time.Second // beside the nodes that end
	look                           = 250 * time.Millisecond
	noBoot                         = time.Millisecond // zero is the laboratory's default
	throttled, besideMost, callsIn = "RequestLimitExceeded", 30, 10 * time.Second
)

// fleet is what one run with a fleet found.
type fleet struct {
	nodes     int
	up, down  time.Duration
	calls     float64 // of EC2, a second, in the busiest callsIn while the nodes end
	throttled int
	beside    []time.Duration // until launches meanwhile reached EC2
}

// Fleet has a static NodePool of that many nodes launched in a whole laboratory, where machines
// boot at once, and ended again while a few others are launched.
func Fleet(ctx context.Context, o Options, nodes int) (err error) {
	if nodes < 1 {
		return errors.New("size run: give at least 1 node")
	}
	binary, err := toolchain.Self(ctx, o.Out, "./daemon/cmd/karpenterd")
	if err != nil {
		return err
	}
	r := &run{Options: o}
	r.lab, err = lab.Start(ctx, lab.Options{
		Logger: hclog.NewNullLogger(), DaemonBinary: binary, Progress: o.Out, StartTime: lab.AtOnce, StopTime: lab.AtOnce, BootDelay: noBoot, ControllerQPS: 500, PlaneMemoryMiB: planeMemory,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.lab.Close()) }()
	if err := r.connect(); err != nil {
		return err
	}
	options, err := deploy.Account(ctx, r.lab)
	if err != nil {
		return err
	}
	objects, err := install.Objects(options)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, patience) // the definitions are not served at once
	defer cancel()
	for _, o := range append(objects, deploy.NodeClass(r.lab, className), static(fleetPool), static(besidePool)) {
		if _, err := r.applier.Apply(within, o, false); err != nil {
			return err
		}
	}
	if err := r.wait(ctx, "the class is ready", func() (bool, error) {
		class, err := r.clients.EC2NodeClasses.Get(ctx, className, metav1.GetOptions{})
		return err == nil && class.Conditions().IsReady(), err
	}); err != nil {
		return err
	}
	found, err := r.launchAndEnd(ctx, nodes)
	if err != nil {
		return err
	}
	return found.report(o.Out)
}

// static is a NodePool with a fixed number of nodes, none at first.
func static(name string) *unstructured.Unstructured {
	return deploy.Declare(v1.Group, v1.NodePoolKind, name, map[string]any{
		"replicas": int64(0),
		"template": map[string]any{"spec": map[string]any{
			"nodeClassRef": map[string]any{"group": awsv1.Group, "kind": awsv1.EC2NodeClassKind, "name": className},
			"requirements": []any{map[string]any{"key": v1.LabelCapacityType, "operator": "In", "values": []any{v1.CapacityTypeOnDemand}}},
		}},
	})
}

// resize sets how many nodes a static NodePool has.
func (r *run) resize(ctx context.Context, pool string, nodes int) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, nodes)
	if _, err := r.clients.NodePools.Patch(ctx, pool, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("nodepool %s resize: %w", pool, err)
	}
	return nil
}

// wait waits until something is so.
func (r *run) wait(ctx context.Context, what string, so func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, fleetPatience)
	defer cancel()
	for {
		is, err := so()
		if is {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until %s: %w", what, errors.Join(ctx.Err(), err))
		case <-time.After(look):
		}
	}
}

func (r *run) launchAndEnd(ctx context.Context, nodes int) (fleet, error) {
	out := fleet{nodes: nodes}
	count := func(only func(*v1.NodeClaim) bool) (n int, err error) {
		list, err := r.clients.NodeClaims.List(ctx, metav1.ListOptions{LabelSelector: v1.LabelNodePool + "=" + fleetPool})
		if err != nil {
			return 0, err
		}
		for i := range list.Items {
			if only(&list.Items[i]) {
				n++
			}
		}
		return n, nil
	}
	r.say("launch %d nodes", nodes)
	began := time.Now()
	if err := r.resize(ctx, fleetPool, nodes); err != nil {
		return out, err
	}
	err := r.wait(ctx, "all nodes are initialized", func() (bool, error) {
		n, err := count(func(c *v1.NodeClaim) bool { return c.Conditions().Get(v1.ConditionInitialized).IsTrue() })
		return n == nodes, err
	})
	if err != nil {
		return out, err
	}
	out.up = time.Since(began)
	r.say("end them")
	began = time.Now()
	if err := r.resize(ctx, fleetPool, 0); err != nil {
		return out, err
	}
	more := time.Now()
	err = r.wait(ctx, "all nodes are gone", func() (bool, error) {
		if time.Since(more) >= launchEvery && len(out.beside) < besideMost {
			more = time.Now()
			if err := r.resize(ctx, besidePool, len(out.beside)+1); err != nil {
				return false, err
			}
			at, err := r.called(ctx, "CreateFleet", more)
			if err != nil {
				return false, err
			}
			out.beside = append(out.beside, at.Sub(more))
		}
		n, err := count(func(*v1.NodeClaim) bool { return true })
		return n == 0 && err == nil, err
	})
	out.down = time.Since(began)
	out.calls, out.throttled = busiest(r.lab.Cloud.Calls(), began)
	return out, err
}

// busiest is how many calls of EC2 a second there were in the busiest callsIn since then, and
// how many were throttled.
func busiest(calls []awssim.Call, since time.Time) (aSecond float64, refused int) {
	var times []time.Time
	for _, c := range calls {
		if c.Service != "ec2" || c.Time.Before(since) {
			continue
		}
		times = append(times, c.Time)
		if c.ErrorCode == throttled {
			refused++
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	from, most := 0, 0
	for to, at := range times {
		for at.Sub(times[from]) > callsIn {
			from++
		}
		most = max(most, to-from+1)
	}
	return float64(most) / callsIn.Seconds(), refused
}

// report prints the figures beside what is required.
func (f fleet) report(w io.Writer) error {
	var beside time.Duration
	if len(f.beside) > 0 {
		beside = slices.Max(f.beside)
	}
	return table(w, slices.Concat(
		judged(fmt.Sprintf("%d nodes launched and initialized, boot 0", f.nodes), f.up, upRequired, upGoal, seconds),
		[]row{{"ended after", seconds(f.down), ""}},
		judged(fmt.Sprintf("EC2 calls a second meanwhile, in the busiest %s", callsIn), f.calls, callsRequired, callsGoal, func(x float64) string { return fmt.Sprintf("%.1f", x) }),
		[]row{{"of them throttled", fmt.Sprint(f.throttled), "0"}},
		judged(fmt.Sprintf("a node's request to EC2 meanwhile, longest of %d", len(f.beside)), beside, besideRequired, besideGoal, millis),
	))
}

// table prints rows as a table.
func table(w io.Writer, rows []row) error {
	out := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	for _, r := range append([]row{{"", "measured", "required"}}, rows...) {
		if _, err := fmt.Fprintf(out, "%s\t%s\t%s\n", r.what, r.measured, r.required); err != nil {
			return fmt.Errorf("report print: %w", err)
		}
	}
	return out.Flush()
}
