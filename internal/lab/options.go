package lab

import (
	"cmp"
	"io"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
)

// What every laboratory has in common.
const (
	Account           = "123456789012"
	KubernetesVersion = "1.36"
	ServiceCIDR       = "172.20.0.0/16" // EKS's default
	vpcCIDR           = "10.0.0.0/16"
	dnsServiceIP      = "172.20.0.10" // EKS gives kube-dns the tenth address
	deployerName      = "deployer"
	spotNotice        = 2 * time.Minute
)

// AtOnce is a StartTime, a StopTime, a CallTime or a Lag.
const AtOnce time.Duration = -1

// Options say how the laboratory differs from its defaults.
type Options struct {
	// Dir holds the scratch directory; empty: one in the system's temporary
	// directory. Nothing is left there after Close.
	Dir         string
	Logger      hclog.Logger
	Progress    io.Writer // what is going on, for people; nil: nobody
	Region      string    // us-west-2
	ClusterName string    // lab
	Zones       []string  // of the subnets; the region's a, b and c

	// TimeFactor is how many times as fast as in AWS everything is that only takes time,
	// in the laboratory and in the daemon alike; zero: 1. The times below are given as
	// they are to be; what is zero is divided by the factor.
	TimeFactor float64
	// StartTime is how long an instance is pending, StopTime how long it is shutting
	// down; zero: 5 s and 30 s, about what EC2 takes. AtOnce is no time.
	StartTime, StopTime time.Duration
	// BootDelay is how long a machine takes from running to joining; zero: 30 s,
	// about what Amazon Linux 2023 takes.
	BootDelay time.Duration

	// CallTime is how long a call to AWS takes, drawn between the two; zero: 50 and 400 ms,
	// about what AWS takes. Lag is the longest time until a change in EC2 or IAM is seen by
	// other calls, drawn for each; zero: 5 s.
	CallTime [2]time.Duration
	Lag      time.Duration
	// Prompt makes calls take no time, and changes seen at once: for tests of what one change
	// comes to, call by call.
	Prompt bool

	// NodeGrace is how long a kubelet is silent before its node is NotReady; zero: 50 s,
	// the default of Kubernetes. Kubelets send heartbeats five times in it.
	NodeGrace time.Duration
	// ControllerQPS is how many requests a second the controller manager may make;
	// zero: its own default, which is what real clusters have.
	ControllerQPS int

	// PlaneMemoryMiB is the memory that each component of the control plane has before it collects
	// garbage all the time; 0: 1024. An API server with 40,000 pods needs some 3,000.
	PlaneMemoryMiB int
	// ServersOnly leaves out what acts on objects: controllers, scheduler, machines
	// and KWOK. The bootstrap nodes still run pods that are bound to them.
	ServersOnly bool

	// Binaries are the control plane's programs; empty ones are found or built.
	Binaries controlplane.Binaries
	// DaemonBinary stands for the daemon's released image; empty: a pod of that
	// image does not start.
	DaemonBinary string
	// Images maps further image repositories (without tag) to local programs.
	Images map[string]string
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Region == "" {
		o.Region = "us-west-2"
	}
	if o.ClusterName == "" {
		o.ClusterName = "lab"
	}
	if len(o.Zones) == 0 {
		o.Zones = []string{o.Region + "a", o.Region + "b", o.Region + "c"}
	}
	o.TimeFactor = cmp.Or(o.TimeFactor, 1)
	o.StartTime = cmp.Or(o.StartTime, o.Shorter(5*time.Second))
	o.StopTime = cmp.Or(o.StopTime, o.Shorter(30*time.Second))
	o.BootDelay = cmp.Or(o.BootDelay, o.Shorter(30*time.Second))
	if o.Prompt {
		o.CallTime, o.Lag = [2]time.Duration{AtOnce, AtOnce}, AtOnce
	}
	o.CallTime[0] = cmp.Or(o.CallTime[0], o.Shorter(50*time.Millisecond))
	o.CallTime[1] = cmp.Or(o.CallTime[1], o.Shorter(400*time.Millisecond))
	o.Lag = cmp.Or(o.Lag, o.Shorter(5*time.Second))
	o.NodeGrace = cmp.Or(o.NodeGrace, o.Shorter(50*time.Second))
	return o
}

// Shorter is what a duration in AWS is in the laboratory.
func (o Options) Shorter(d time.Duration) time.Duration {
	return time.Duration(float64(d) / cmp.Or(o.TimeFactor, 1))
}
