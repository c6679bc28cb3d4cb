package lab

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	leases "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// brokenHolder holds the Lease of a machine whose kubelet does not work. KWOK leaves
// a node and its pods alone whose Lease somebody else holds.
const brokenHolder = "lab-broken-kubelet"

// faults are the kubelets that hang. Safe for concurrent use.
type faults struct {
	mu   sync.Mutex
	hung map[string]context.CancelFunc // by node
	work sync.WaitGroup
}

// StopKubelet ends the kubelet of a machine: its pods stay as they are, and its node
// is NotReady as soon as it has been silent for Options.NodeGrace.
func (l *Lab) StopKubelet(ctx context.Context, node string) error {
	_, err := l.takeLease(ctx, node)
	return err
}

// HangKubelet lets the kubelet of a machine send heartbeats and do nothing else: its
// node stays Ready, and its pods neither start nor end.
func (l *Lab) HangKubelet(ctx context.Context, node string) error {
	mine, err := l.takeLease(ctx, node)
	if err != nil {
		return err
	}
	beat, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.faults.mu.Lock()
	defer l.faults.mu.Unlock()
	if l.faults.hung == nil {
		l.faults.hung = map[string]context.CancelFunc{}
	}
	l.faults.hung[node] = cancel
	l.faults.work.Go(func() {
		for beat.Err() == nil {
			patch := fmt.Appendf(nil, `{"spec":{"renewTime":%q}}`, time.Now().UTC().Format(metav1.RFC3339Micro))
			if _, err := mine.Patch(beat, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && beat.Err() == nil {
				l.logger("fault").Warn("lease of a hung kubelet not renewed", "node", node, "error", err)
			}
			select {
			case <-beat.Done():
			case <-time.After(l.options.NodeGrace / 5):
			}
		}
	})
	return nil
}

// ResumeKubelet lets a kubelet that was stopped or hangs work again, within a fifth
// of Options.NodeGrace.
func (l *Lab) ResumeKubelet(ctx context.Context, node string) error {
	l.faults.mu.Lock()
	if cancel, ok := l.faults.hung[node]; ok {
		cancel()
		delete(l.faults.hung, node)
	}
	l.faults.mu.Unlock()
	mine, err := l.nodeLeases(node)
	if err != nil {
		return err
	}
	// With a Lease that nobody holds KWOK takes the node back.
	if _, err := mine.Patch(ctx, node, types.MergePatchType, []byte(`{"spec":{"holderIdentity":null}}`), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("kubelet of %s resume: %w", node, err)
	}
	return nil
}

// takeLease takes the Lease of a node from KWOK, for longer than any laboratory runs.
func (l *Lab) takeLease(ctx context.Context, node string) (leases.LeaseInterface, error) {
	mine, err := l.nodeLeases(node)
	if err != nil {
		return nil, err
	}
	patch := fmt.Appendf(nil, `{"spec":{"holderIdentity":%q,"leaseDurationSeconds":%d}}`, brokenHolder, int(24*time.Hour/time.Second))
	if _, err := mine.Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return nil, fmt.Errorf("lease of node %s take: %w", node, err)
	}
	return mine, nil
}

// nodeLeases is the client by which a node's own kubelet renews its Lease.
func (l *Lab) nodeLeases(node string) (leases.LeaseInterface, error) {
	config, err := l.plane.Client("system:node:"+node, "system:nodes")
	if err != nil {
		return nil, err
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("client create: %w", err)
	}
	return clients.CoordinationV1().Leases("kube-node-lease"), nil
}

// close ends the heartbeats.
func (f *faults) close() {
	f.mu.Lock()
	for _, cancel := range f.hung {
		cancel()
	}
	f.mu.Unlock()
	f.work.Wait()
}
