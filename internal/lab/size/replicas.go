package size

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/daemonlog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
)

// replica is one pod of the daemon. It is not restarted when it ends.
type replica struct {
	run     *run
	name    string
	process *proc.Process
}

// start makes the n-th pod of the daemon and waits for its process.
func (r *run) start(ctx context.Context, template corev1.PodTemplateSpec, n int) (*replica, error) {
	pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Namespace, pod.Name, pod.Spec.NodeName, pod.Spec.RestartPolicy = install.DefaultNamespace, fmt.Sprintf("%s-%d", install.DefaultName, n), node, corev1.RestartPolicyNever
	out := &replica{run: r, name: pod.Name}
	if _, err := r.core.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("daemon's pod create: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		if p, there := r.lab.Processes.Find(pod.Name + "/" + install.DefaultName); there {
			out.process = p
			return out, nil
		}
		select {
		case <-within.Done():
			is, err := r.core.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
			if err != nil || len(is.Status.ContainerStatuses) == 0 || is.Status.ContainerStatuses[0].State.Waiting == nil {
				return nil, fmt.Errorf("daemon start: %w", errors.Join(within.Err(), err))
			}
			return nil, fmt.Errorf("daemon start: %w: %s", within.Err(), is.Status.ContainerStatuses[0].State.Waiting.Message)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// until waits until something is so.
func (d *replica) until(ctx context.Context, what string, so func(context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !so(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s of %s: %w; the end of its log:\n%s", what, d.name, ctx.Err(), d.logTail())
		case <-d.process.Done():
			return fmt.Errorf("%s of %s: the daemon ended; the end of its log:\n%s", what, d.name, d.logTail())
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// decided waits until the daemon has decided once.
func (d *replica) decided(ctx context.Context) error {
	url, err := deploy.MetricsURL(d.process.PID)
	if err != nil {
		return err
	}
	return d.until(ctx, "decision", func(ctx context.Context) bool { return hasDecided(ctx, url) })
}

// waiting waits until the daemon competes for the Lease.
func (d *replica) waiting(ctx context.Context) error {
	return d.until(ctx, "election", func(context.Context) bool {
		text, err := d.log()
		return err == nil && bytes.Contains(text, []byte("Attempting to acquire leader lease"))
	})
}

// elected reads from the log when the daemon became the one that works.
func (d *replica) elected() (time.Time, error) {
	text, err := d.log()
	if err != nil {
		return time.Time{}, fmt.Errorf("daemon's log read: %w", err)
	}
	for entry := range daemonlog.Entries(text) {
		if entry.Message == "elected" {
			return entry.Time, nil
		}
	}
	return time.Time{}, errors.New("daemon's log read: it does not say that the daemon was elected")
}

func (d *replica) log() ([]byte, error) {
	return os.ReadFile(filepath.Join(d.run.lab.LogDir(), install.DefaultNamespace+"_"+d.name+"_"+install.DefaultName+".log"))
}

func (d *replica) logTail() string {
	text, err := d.log()
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-4000):])
}

// handOver measures how long nobody decides: after the leader is killed, and after the next
// one is told to end.
func (r *run) handOver(ctx context.Context, template corev1.PodTemplateSpec, leader *replica, f *findings) error {
	for i, way := range []struct {
		what string
		end  func(*proc.Process)
		took *time.Duration
	}{
		{"killed", (*proc.Process).Kill, &f.afterKill},
		{"told to end", func(p *proc.Process) { p.Stop(patience) }, &f.afterEnd},
	} {
		next, err := r.start(ctx, template, i+1)
		if err != nil {
			return err
		}
		if err := next.waiting(ctx); err != nil {
			return err
		}
		time.Sleep(standby) // it has looked at the Lease
		r.say("the leader is %s", way.what)
		began := time.Now()
		go way.end(leader.process)
		if err := next.decided(ctx); err != nil {
			return err
		}
		*way.took = time.Since(began)
		leader = next
	}
	return nil
}
