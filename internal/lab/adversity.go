package lab

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/sqssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/faults"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/machine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/relay"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/webhook"
)

// startNetwork puts a relay between pods and the API server.
func (l *Lab) startNetwork(context.Context) (err error) {
	l.network, err = relay.Start(strings.TrimPrefix(l.Endpoint, "https://"))
	return err
}

func (l *Lab) startFaults(context.Context) (err error) {
	l.Faults, err = faults.Start(slices.Concat(l.callFaults(), l.capacityFaults(), l.kubernetesFaults(), l.nodeFaults(), l.daemonFaults()), l.logger("faults"))
	return err
}

// ending makes the end of a fault of what cannot fail.
func ending(end func()) func(context.Context) error {
	return func(context.Context) error { end(); return nil }
}

// begin begins a fault whose parameters have been read.
func begin(v *faults.Values, do func() (end func())) (func(context.Context) error, error) {
	if err := v.Err(); err != nil {
		return nil, err
	}
	return ending(do()), nil
}

// callFaults are those of calls to AWS.
func (l *Lab) callFaults() []faults.Fault {
	to := []faults.Parameter{{Name: "service", Means: "e.g. ec2", Optional: true}, {Name: "action", Means: "e.g. CreateFleet", Optional: true}, {Name: "share", Means: "of the calls, from 0 to 1", Default: "1"}}
	call := func(name, does string, takes []faults.Parameter, fault func(*faults.Values) awssim.Fault) faults.Fault {
		return faults.Fault{Name: name, Does: does, Takes: slices.Concat(to, takes), Begin: func(_ context.Context, v *faults.Values) (func(context.Context) error, error) {
			f := fault(v)
			f.Service, f.Action, f.Share = v.Text("service"), v.Text("action"), v.Share("share")
			return begin(v, func() func() { return l.Cloud.Faults().Inject(f) })
		}}
	}
	return []faults.Fault{
		call("aws-error", "calls to AWS fail", []faults.Parameter{{Name: "code", Means: "of the error", Default: "InternalError"}, {Name: "status", Means: "of HTTP", Default: "500"}},
			func(v *faults.Values) awssim.Fault {
				return awssim.Fault{Code: v.Text("code"), Status: v.Int("status")}
			}),
		call("aws-denied", "calls to AWS are denied, as when somebody takes a permission away", nil, func(v *faults.Values) awssim.Fault {
			code := "AccessDenied"
			if v.Text("service") == "ec2" {
				code = "UnauthorizedOperation"
			}
			return awssim.Fault{Code: code, Status: http.StatusForbidden, Message: "You are not authorized to perform this operation."}
		}),
		call("aws-slow", "calls to AWS take longer, a time that is drawn for each", []faults.Parameter{{Name: "least", Means: "duration", Default: "1s"}, {Name: "most", Means: "duration", Default: "5s"}},
			func(v *faults.Values) awssim.Fault {
				return awssim.Fault{Latency: v.Duration("least"), LatencyMost: v.Duration("most")}
			}),
		call("aws-silent", "calls to AWS are not answered and do nothing", nil, func(*faults.Values) awssim.Fault { return awssim.Fault{Blackhole: true} }),
		call("aws-lost-answer", "calls to AWS are carried out, and their answers are lost", nil, func(*faults.Values) awssim.Fault { return awssim.Fault{DropResponse: true} }),
		{Name: "aws-throttle", Does: "EC2 refuses calls beyond the token buckets that it documents", Begin: func(context.Context, *faults.Values) (func(context.Context) error, error) {
			l.Cloud.Throttle(true)
			return ending(func() { l.Cloud.Throttle(false) }), nil
		}},
		{Name: "aws-expire", Does: "temporary credentials expire now", Begin: func(context.Context, *faults.Values) (func(context.Context) error, error) {
			l.Cloud.IAM.ExpireSessions()
			return nil, nil
		}},
		{
			Name: "iam-lag", Does: "changes of IAM are seen late, after a time that is drawn for each", Takes: []faults.Parameter{{Name: "most", Means: "duration", Default: "10s"}},
			Begin: func(_ context.Context, v *faults.Values) (func(context.Context) error, error) {
				most := v.Duration("most")
				return begin(v, func() func() {
					l.Cloud.IAM.SetLag(most)
					return func() { l.Cloud.IAM.SetLag(l.options.Lag) }
				})
			},
		},
		{
			Name: "queue-unreliable", Does: "messages of the interruption queue are lost, come twice, or come late and so in another order",
			Takes: []faults.Parameter{{Name: "lost", Means: "share, from 0 to 1", Default: "0"}, {Name: "repeated", Means: "share, from 0 to 1", Default: "0"}, {Name: "late", Means: "longest delay", Default: "0s"}},
			Begin: func(_ context.Context, v *faults.Values) (func(context.Context) error, error) {
				d := sqssim.Delivery{Lost: v.Share("lost"), Repeated: v.Share("repeated"), Late: v.Duration("late")}
				return begin(v, func() func() {
					l.Cloud.SQS.SetDelivery(d)
					return func() { l.Cloud.SQS.SetDelivery(sqssim.Delivery{}) }
				})
			},
		},
	}
}

// capacityFaults are those of what EC2 has, and allows.
func (l *Lab) capacityFaults() []faults.Fault {
	capacityType := faults.Parameter{Name: "capacity-type", Means: "on-demand or spot", Default: "on-demand"}
	ec2 := l.Cloud.EC2
	return []faults.Fault{
		{
			Name: "no-capacity", Does: "an offering has room for so many instances more",
			Takes: []faults.Parameter{capacityType, {Name: "type", Means: "instance type"}, {Name: "zone", Means: "e.g. us-west-2a"}, {Name: "left", Means: "instances", Default: "0"}},
			Begin: func(_ context.Context, v *faults.Values) (func(context.Context) error, error) {
				of, left := v.OneOf("capacity-type", "on-demand", "spot"), v.Int("left")
				return begin(v, func() func() {
					ec2.SetCapacity(of, v.Text("type"), v.Text("zone"), left)
					return func() { ec2.SetCapacity(of, v.Text("type"), v.Text("zone"), -1) }
				})
			},
		},
		{
			Name: "capacity-storm", Does: "no instance type has capacity anywhere, but for some", Takes: []faults.Parameter{{Name: "keep", Means: "instance types, with commas", Optional: true}},
			Begin: func(_ context.Context, v *faults.Values) (func(context.Context) error, error) {
				return begin(v, func() func() { return ec2.Storm(strings.Split(v.Text("keep"), ",")...) })
			},
		},
		{
			Name: "quota", Does: "the account may have so many vCPUs of the quota that the type counts against", Takes: []faults.Parameter{capacityType, {Name: "type", Means: "instance type", Default: "m5.large"}, {Name: "vcpus", Means: "those that run included", Default: "0"}},
			Begin: func(_ context.Context, v *faults.Values) (func(context.Context) error, error) {
				of, vcpus := v.OneOf("capacity-type", "on-demand", "spot"), v.Int("vcpus")
				return begin(v, func() func() {
					ec2.SetQuota(of, v.Text("type"), vcpus)
					return func() { ec2.SetQuota(of, v.Text("type"), -1) }
				})
			},
		},
		{Name: "no-spot-role", Does: "the account lacks the service-linked role of EC2 Spot", Begin: func(context.Context, *faults.Values) (func(context.Context) error, error) {
			ec2.RequireSpotRole(true)
			return ending(func() { ec2.RequireSpotRole(false) }), nil
		}},
		{
			Name: "full-subnet", Does: "a subnet has no free address", Takes: []faults.Parameter{{Name: "subnet", Means: "id; the first of the VPC", Default: l.VPC.SubnetIDs[0]}},
			Begin: func(_ context.Context, v *faults.Values) (func(context.Context) error, error) {
				id := v.Text("subnet")
				if !ec2.FillSubnet(id, true) {
					return nil, fmt.Errorf("%w: subnet %q is unknown", faults.ErrParameter, id)
				}
				return ending(func() { ec2.FillSubnet(id, false) }), nil
			},
		},
		{Name: "kms-refused", Does: "instances end instead of running: EC2 may not use the KMS key of their volumes", Begin: func(context.Context, *faults.Values) (func(context.Context) error, error) {
			ec2.RefuseKey(true)
			return ending(func() { ec2.RefuseKey(false) }), nil
		}},
	}
}

// kubernetesFaults are those of the control plane and of the way to it.
func (l *Lab) kubernetesFaults() []faults.Fault {
	network := func(name, does string, takes []faults.Parameter, state func(*faults.Values) relay.State) faults.Fault {
		return faults.Fault{Name: name, Does: does, Takes: takes, Begin: func(_ context.Context, v *faults.Values) (func(context.Context) error, error) {
			s := state(v)
			return begin(v, func() func() {
				l.network.Set(s)
				return func() { l.network.Set(relay.State{}) }
			})
		}}
	}
	return []faults.Fault{
		{
			Name: "api-server-restart", Does: "the API server ends without notice, and is back after a while", Takes: []faults.Parameter{{Name: "down", Means: "duration", Default: "5s"}},
			Begin: func(ctx context.Context, v *faults.Values) (func(context.Context) error, error) {
				down := v.Duration("down")
				if err := v.Err(); err != nil {
					return nil, err
				}
				return nil, l.plane.RestartAPIServer(ctx, down)
			},
		},
		{
			Name: "etcd-slow", Does: "etcd stands still for most of the time", Takes: []faults.Parameter{{Name: "still", Means: "duration", Default: "400ms"}, {Name: "runs", Means: "duration, in turn with the other", Default: "50ms"}},
			Begin: func(_ context.Context, v *faults.Values) (func(context.Context) error, error) { return l.slowEtcd(v) },
		},
		network("partition", "the daemon does not reach the API server: connections end and none is made", nil, func(*faults.Values) relay.State { return relay.State{Cut: true} }),
		network("network-silent", "nothing comes through between the daemon and the API server, and no connection ends", nil, func(*faults.Values) relay.State { return relay.State{Silent: true} }),
		network("watch-behind", "what the API server sends comes late to the daemon, its watches included", []faults.Parameter{{Name: "delay", Means: "duration", Default: "3s"}}, func(v *faults.Values) relay.State { return relay.State{Delay: v.Duration("delay")} }),
		{
			Name: "webhook", Does: "somebody's webhook denies writes of a resource, or does not answer", Takes: []faults.Parameter{{Name: "does", Means: "deny or hang", Default: "deny"}, {Name: "resource", Means: "e.g. nodeclaims, nodeclaims/status, nodes", Default: "nodeclaims"}},
			Begin: func(ctx context.Context, v *faults.Values) (func(context.Context) error, error) {
				path := map[string]string{"deny": webhook.DenyPath, "hang": webhook.HangPath}[v.OneOf("does", "deny", "hang")]
				if err := v.Err(); err != nil {
					return nil, err
				}
				clients, err := l.faultClients()
				if err != nil {
					return nil, err
				}
				return l.hook.Break(ctx, clients, path, v.Text("resource"), l.CA)
			},
		},
	}
}

// slowEtcd lets etcd run in short turns.
func (l *Lab) slowEtcd(v *faults.Values) (func(context.Context) error, error) {
	still, runs := v.Duration("still"), v.Duration("runs")
	if err := v.Err(); err != nil {
		return nil, err
	}
	etcd, ok := l.Processes.Find("etcd")
	if !ok {
		return nil, fmt.Errorf("etcd slow down: %w", errNotRunning)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			_ = etcd.Pause() // one that has ended stands still anyway
			sleep(ctx, still)
			_ = etcd.Resume()
			sleep(ctx, runs)
		}
	}()
	return ending(func() { cancel(); <-done }), nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// daemonFaults are those of the daemon's own processes.
func (l *Lab) daemonFaults() []faults.Fault {
	which := []faults.Parameter{{Name: "which", Means: "leader, standby or all", Default: "leader"}}
	return []faults.Fault{
		{
			Name: "daemon-kill", Does: "replicas of the daemon end without notice, and their kubelet starts them again", Takes: which,
			Begin: func(ctx context.Context, v *faults.Values) (func(context.Context) error, error) {
				found, err := l.replicas(ctx, v)
				for _, p := range found {
					p.Kill()
				}
				return nil, err
			},
		},
		{
			Name: "daemon-freeze", Does: "replicas of the daemon stand still, as while their machine is paused; their clock jumps when it is over", Takes: which,
			Begin: func(ctx context.Context, v *faults.Values) (func(context.Context) error, error) {
				found, err := l.replicas(ctx, v)
				if err != nil {
					return nil, err
				}
				for _, p := range found {
					_ = p.Pause() // one that has ended meanwhile stands still anyway
				}
				return ending(func() {
					for _, p := range found {
						_ = p.Resume()
					}
				}), nil
			},
		},
	}
}

// replicas finds the daemon's processes by their role.
func (l *Lab) replicas(ctx context.Context, v *faults.Values) ([]*proc.Process, error) {
	which := v.OneOf("which", "leader", "standby", "all")
	if err := v.Err(); err != nil {
		return nil, err
	}
	clients, err := l.faultClients()
	if err != nil {
		return nil, err
	}
	leases, err := clients.CoordinationV1().Leases(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + install.LeaseName})
	if err != nil {
		return nil, fmt.Errorf("leader find: %w", err)
	}
	leads := func(pod string) bool {
		for _, x := range leases.Items {
			if x.Spec.HolderIdentity != nil && strings.HasPrefix(*x.Spec.HolderIdentity, pod) {
				return true
			}
		}
		return false
	}
	var out []*proc.Process
	for _, p := range l.Processes.All() {
		pod, container, _ := strings.Cut(p.Name, "/")
		if container == install.DefaultName && (which == "all" || (which == "leader") == leads(pod)) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("daemon's %s find: %w", which, errNotRunning)
	}
	return out, nil
}

// nodeFaults are those of machines and instances.
func (l *Lab) nodeFaults() []faults.Fault {
	booting := func(name, does string, takes []faults.Parameter, delay func(*faults.Values) time.Duration) faults.Fault {
		return faults.Fault{Name: name, Does: does, Takes: takes, Begin: func(_ context.Context, v *faults.Values) (func(context.Context) error, error) {
			d := delay(v)
			return begin(v, func() func() {
				l.Machines.SetBootDelay(d)
				return func() { l.Machines.SetBootDelay(l.options.BootDelay) }
			})
		}}
	}
	out := []faults.Fault{
		booting("never-joins", "machines that are launched meanwhile never join", nil, func(*faults.Values) time.Duration { return machine.NeverBoots }),
		booting("late-joins", "machines that are launched meanwhile take longer to join", []faults.Parameter{{Name: "boot", Means: "duration", Default: "1m"}}, func(v *faults.Values) time.Duration { return v.Duration("boot") }),
		{Name: "joins-twice", Does: "machines that join meanwhile register a second Node", Begin: func(context.Context, *faults.Values) (func(context.Context) error, error) {
			l.Machines.SetJoinTwice(true)
			return ending(func() { l.Machines.SetJoinTwice(false) }), nil
		}},
	}
	for _, x := range []struct {
		name, does string
		broken     func(context.Context, string) error
	}{
		{"node-not-ready", "the kubelet of a node ends, and its node is NotReady", l.StopKubelet},
		{"node-hung", "the kubelet of a node sends heartbeats and does nothing else", l.HangKubelet},
	} {
		out = append(out, faults.Fault{Name: x.name, Does: x.does, Takes: []faults.Parameter{{Name: "node", Means: "name"}}, Begin: func(ctx context.Context, v *faults.Values) (func(context.Context) error, error) {
			node := v.Text("node")
			if err := x.broken(ctx, node); err != nil {
				return nil, err
			}
			return func(ctx context.Context) error {
				if err := l.ResumeKubelet(ctx, node); !apierrors.IsNotFound(err) {
					return err
				}
				return nil // the node was replaced meanwhile
			}, nil
		}})
	}
	return append(out, l.instanceFaults()...)
}

// instanceFaults are what happens to an instance once.
func (l *Lab) instanceFaults() []faults.Fault {
	ec2 := l.Cloud.EC2
	off := func(end func(id string) error) func(context.Context, string) error {
		return func(ctx context.Context, id string) error {
			if err := end(id); err != nil {
				return err
			}
			return l.silence(ctx, id)
		}
	}
	once := func(name, does string, happen func(ctx context.Context, id string) error) faults.Fault {
		return faults.Fault{Name: name, Does: does, Takes: []faults.Parameter{{Name: "instance", Means: "id"}}, Begin: func(ctx context.Context, v *faults.Values) (func(context.Context) error, error) {
			return nil, happen(ctx, v.Text("instance"))
		}}
	}
	return []faults.Fault{
		once("spot-warning", "EC2 warns of the end of a spot instance, and ends it two minutes later", func(_ context.Context, id string) error { return ec2.WarnSpot(id) }),
		once("rebalance", "EC2 recommends to replace a spot instance", func(_ context.Context, id string) error { return ec2.RecommendRebalance(id) }),
		once("retirement", "EC2 announces that it retires an instance in ten minutes", func(_ context.Context, id string) error {
			return ec2.ScheduleEvent(id, "instance-retirement", time.Now().Add(l.options.Shorter(10*time.Minute)))
		}),
		once("instance-terminated", "somebody terminates an instance", off(ec2.Terminate)),
		once("instance-stopped", "somebody stops an instance", off(ec2.Stop)),
	}
}
