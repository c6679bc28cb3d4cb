package machine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// secondName is what the second Node of a machine has at the end of its name.
const secondName = "-again"

// Waits between attempts to join; a kubelet tries for as long as it runs.
const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 4 * time.Second
)

// NeverBoots is a boot delay: the machine runs and nothing comes of it.
const NeverBoots time.Duration = -1

// Instance is what a machine learns from its metadata service, and its disk.
type Instance struct {
	ID, Type, Zone  string
	PrivateIP       string
	PrivateDNSName  string // becomes the Node's name
	UserData        []byte // decoded
	Image           string // name
	DataVolumeBytes int64  // of the volume with the files of pods
}

// Metadata is the instance metadata service: the credentials of the instance
// profile's role. An instance without a profile or role has none.
type Metadata interface {
	Credentials(ctx context.Context, instanceID string) (aws.Credentials, error)
}

// Options is what a host of machines is made of.
type Options struct {
	Region         string
	STSURL         string // where the STS of the region answers
	Metadata       Metadata
	Hardware       func(instanceType string) (Hardware, bool)
	BootDelay      time.Duration
	KubeletVersion string            // e.g. v1.36.3
	Annotations    map[string]string // put on every Node, so that KWOK knows it
	Logger         hclog.Logger
	// Second registers the second Node of a machine that joins twice: NodeRestriction would
	// refuse a kubelet that writes another node than its own. Nil: no machine joins twice.
	Second kubernetes.Interface
}

// Entry is one line of a machine's boot log.
type Entry struct {
	Time time.Time
	Text string
}

// Boot is how far a machine has come.
type Boot struct {
	InstanceID string
	NodeName   string
	Joined     bool
	Log        []Entry // repetitions of the last line are left out
}

// Host runs the machines of the laboratory.
type Host struct {
	options Options
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup

	mu       sync.Mutex
	delay    time.Duration
	twice    bool
	machines map[string]*running
}

type running struct {
	cancel context.CancelFunc
	boot   Boot
}

// NewHost makes a host without machines. Close it.
func NewHost(o Options) *Host {
	ctx, cancel := context.WithCancel(context.Background())
	return &Host{options: o, ctx: ctx, cancel: cancel, delay: o.BootDelay, machines: map[string]*running{}}
}

// SetBootDelay changes how long machines that start from now on take to boot;
// NeverBoots makes them dead.
func (h *Host) SetBootDelay(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.delay = d
}

// SetJoinTwice makes machines that join from now on register a second Node with the same
// instance, as after a change of the host's name.
func (h *Host) SetJoinTwice(twice bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.twice = twice
}

// Start boots a machine; an instance that already runs is left alone.
func (h *Host) Start(i Instance) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.machines[i.ID]; ok || h.ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(h.ctx)
	h.machines[i.ID] = &running{cancel: cancel, boot: Boot{InstanceID: i.ID, NodeName: i.PrivateDNSName}}
	delay := h.delay
	h.work.Go(func() { h.run(ctx, i, delay) })
}

// Stop powers a machine off. Its boot log stays readable.
func (h *Host) Stop(instanceID string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m, ok := h.machines[instanceID]; ok {
		m.cancel()
	}
}

// Boot tells how far a machine has come; false for one that was never started.
func (h *Host) Boot(instanceID string) (Boot, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m, ok := h.machines[instanceID]
	if !ok {
		return Boot{}, false
	}
	return m.snapshot(), true
}

// Boots tells it of every machine, ordered by instance id.
func (h *Host) Boots() []Boot {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []Boot
	for _, id := range slices.Sorted(maps.Keys(h.machines)) {
		out = append(out, h.machines[id].snapshot())
	}
	return out
}

func (m *running) snapshot() Boot {
	b := m.boot
	b.Log = slices.Clone(b.Log)
	return b
}

// Close powers every machine off and waits for them.
func (h *Host) Close() {
	h.cancel()
	h.work.Wait()
}

// run is a machine's life until it has joined; that of one with devices goes on until it
// stops.
func (h *Host) run(ctx context.Context, i Instance, delay time.Duration) {
	if delay < 0 {
		h.note(i.ID, "powered on; this machine is set never to boot")
		return
	}
	h.note(i.ID, "powered on")
	if !wait(ctx, delay) {
		return
	}
	for retry := firstRetry; ; retry = min(2*retry, lastRetry) {
		err := h.join(ctx, i)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			h.joined(i.ID)
			h.serveDevices(ctx, i)
			return
		}
		h.note(i.ID, err.Error())
		if errors.Is(err, ErrUserData) || !wait(ctx, retry) {
			return
		}
	}
}

// join reads the user data and registers the Node.
func (h *Host) join(ctx context.Context, i Instance) error {
	config, err := i.readUserData()
	if err != nil {
		return err
	}
	k, err := kubeletOf(config)
	if err != nil {
		return err
	}
	hardware, ok := h.options.Hardware(i.Type)
	if !ok {
		return fmt.Errorf("hardware of %s read: unknown instance type", i.Type)
	}
	node, err := h.nodeOf(i, hardware, k)
	if err != nil {
		return err
	}
	clients, err := h.clients(ctx, i, config.Spec.Cluster)
	if err != nil {
		return err
	}
	_, err = clients.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err == nil && h.joinsTwice() {
		i.PrivateDNSName += secondName
		if node, err = h.nodeOf(i, hardware, k); err != nil {
			return err
		}
		_, err = h.options.Second.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	}
	if apierrors.IsAlreadyExists(err) { // an answer got lost, or the name's last owner is not gone yet
		have, getErr := clients.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
		if getErr == nil && have.Spec.ProviderID == node.Spec.ProviderID {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("node %s register: %w", node.Name, err)
	}
	return nil
}

func (h *Host) joinsTwice() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.twice && h.options.Second != nil
}

// clients speak to the API server with the credentials of the instance profile's role.
func (h *Host) clients(ctx context.Context, i Instance, cluster clusterDetails) (kubernetes.Interface, error) {
	credentials, err := h.options.Metadata.Credentials(ctx, i.ID)
	if err != nil {
		return nil, fmt.Errorf("instance credentials read: %w", err)
	}
	token, err := clusterToken(ctx, credentials, h.options.STSURL, h.options.Region, cluster.Name, time.Now())
	if err != nil {
		return nil, err
	}
	clients, err := kubernetes.NewForConfig(&rest.Config{
		Host: cluster.APIServerEndpoint, BearerToken: token, UserAgent: "kubelet/" + h.options.KubeletVersion,
		TLSClientConfig: rest.TLSClientConfig{CAData: cluster.CertificateAuthority},
	})
	if err != nil {
		return nil, fmt.Errorf("%w: spec.cluster: %w", ErrUserData, err)
	}
	return clients, nil
}

func (h *Host) joined(id string) {
	h.note(id, "joined the cluster")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.machines[id].boot.Joined = true
}

// note writes a line into the boot log, once where it repeats.
func (h *Host) note(id, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := &h.machines[id].boot
	if n := len(b.Log); n > 0 && b.Log[n-1].Text == text {
		return
	}
	b.Log = append(b.Log, Entry{Time: time.Now(), Text: text})
	h.options.Logger.Debug("machine", "instance", id, "boot", text)
}

// wait pauses for d; false when the machine was powered off meanwhile.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
