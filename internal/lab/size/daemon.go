package size

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/deploy"
)

const (
	node = "bootstrap-1"
	// patience is how long the daemon may take to start, and to decide, before the
	// measurement is given up; resting is how long the API server may take to rest before
	// the daemon is started anyway. Both are longer than it takes on two cores.
	patience, resting = 3 * time.Minute, time.Minute
	// ticks is the kernel's clock for processor times (proc_pid_stat(5)); it is 100
	// a second on every platform of Linux that Go knows.
	ticks = 100
	// decisions is the metric that counts decisions.
	decisions = "karpenter_scheduler_scheduling_duration_seconds_count"
)

// exemptPods has the pod identity webhook asked about the daemon's pod alone: to
// ask it about every other takes longer than to write them.
func (r *run) exemptPods(ctx context.Context) error {
	hooks := r.core.AdmissionregistrationV1().MutatingWebhookConfigurations()
	hook, err := hooks.Get(ctx, "pod-identity-webhook", metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("pod identity webhook get: %w", err)
	}
	for i := range hook.Webhooks {
		hook.Webhooks[i].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: install.DefaultNamespace}}
	}
	if _, err := hooks.Update(ctx, hook, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("pod identity webhook narrow: %w", err)
	}
	return nil
}

// install applies what the provider applies, and returns the pods of the
// Deployment, for which there is no controller here.
func (r *run) install(ctx context.Context, options install.Options) (corev1.PodTemplateSpec, error) {
	objects, err := install.Objects(options)
	if err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	for _, o := range objects {
		if _, err := r.applier.Apply(ctx, o, false); err != nil {
			return corev1.PodTemplateSpec{}, err
		}
	}
	// A controller publishes it elsewhere; pods mount it beside their token.
	_, err = r.core.CoreV1().ConfigMaps(install.DefaultNamespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(r.lab.CA)},
	}, metav1.CreateOptions{})
	if err != nil {
		return corev1.PodTemplateSpec{}, fmt.Errorf("configmap kube-root-ca.crt create: %w", err)
	}
	var deployment appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(objects[len(objects)-1].Object, &deployment); err != nil {
		return corev1.PodTemplateSpec{}, fmt.Errorf("deployment read: %w", err)
	}
	return deployment.Spec.Template, nil
}

// measure runs the daemon's pod on a bootstrap node and watches its process.
func (r *run) measure(ctx context.Context, template corev1.PodTemplateSpec) (findings, error) {
	f := findings{Options: r.Options, limit: template.Spec.Containers[0].Resources.Limits.Memory().Value()}
	var err error
	if f.pod, f.managed, err = r.sample(ctx); err != nil {
		return f, err
	}
	server, there := r.lab.Processes.Find("kube-apiserver")
	if !there {
		return f, errors.New("the API server does not run")
	}
	if err := r.settle(ctx, server.PID, &f); err != nil {
		return f, err
	}
	r.say("start the daemon, and watch it for %s", r.Watch)
	d, err := r.start(ctx, template, 0)
	if err != nil {
		return f, err
	}
	if err := d.decided(ctx); err != nil {
		return f, err
	}
	f.decided = time.Since(d.process.Started)
	elected, err := d.elected()
	if err != nil {
		return f, err
	}
	f.elected = elected.Sub(d.process.Started)
	if err := errors.Join(read(d.process.PID, &f.atDecision), read(server.PID, &f.serverThen)); err != nil {
		return f, err
	}
	select {
	case <-ctx.Done():
		return f, ctx.Err()
	case <-d.process.Done():
		return f, errors.New("the daemon ended; the end of its log:\n" + d.logTail())
	case <-time.After(r.Watch):
	}
	if err := read(d.process.PID, &f.later); err != nil || r.Karpenter {
		return f, err
	}
	if err := r.load(ctx, d, &f); err != nil {
		return f, err
	}
	return f, r.handOver(ctx, template, d, &f)
}

// settle waits until the API server has got over what was written: while it
// collects garbage it is slow to answer anybody.
func (r *run) settle(ctx context.Context, server int, f *findings) error {
	const idle, every = 50 * time.Millisecond, time.Second
	began := time.Now()
	for {
		if err := read(server, &f.serverBefore); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
		var now usage
		if err := read(server, &now); err != nil {
			return err
		}
		if now.processor-f.serverBefore.processor < idle || time.Since(began) > resting {
			r.say("the API server rests after %s, with %s", time.Since(began).Round(time.Second), mib(now.resident))
			return nil
		}
	}
}

// sample returns the size of a pod in JSON, and of its managedFields. The API
// server must have all pods; its cache may be behind what was written.
func (r *run) sample(ctx context.Context) (whole, managed int, err error) {
	var list *corev1.PodList
	for deadline := time.Now().Add(patience); ; {
		if list, err = r.core.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
			return 0, 0, fmt.Errorf("pods list: %w", err)
		}
		there := len(list.Items) + int(remaining(list))
		if there == r.Pods {
			break
		}
		if time.Now().After(deadline) {
			return 0, 0, fmt.Errorf("pods list: the API server has %d, not %d", there, r.Pods)
		}
		time.Sleep(100 * time.Millisecond)
	}
	text, err := json.Marshal(list.Items[0])
	if err != nil {
		return 0, 0, fmt.Errorf("pod encode: %w", err)
	}
	fields, err := json.Marshal(list.Items[0].ManagedFields)
	return len(text), len(fields), err
}

// hasDecided reads it from the daemon's metrics; one that does not serve them yet
// has not.
func hasDecided(ctx context.Context, url string) bool {
	count, err := deploy.Metrics(ctx, url, decisions)
	return err == nil && count[0] > 0
}

// usage is what a process has used.
type usage struct {
	resident, peak int64 // bytes
	processor      time.Duration
}

// read takes the figures from proc(5).
func read(pid int, into *usage) error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return fmt.Errorf("daemon's memory read: %w", err)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return fmt.Errorf("daemon's processor time read: %w", err)
	}
	*into, err = parseUsage(string(status), string(stat))
	return err
}

func parseUsage(status, stat string) (usage, error) {
	var u usage
	for line := range strings.Lines(status) {
		for name, to := range map[string]*int64{"VmRSS:": &u.resident, "VmHWM:": &u.peak} {
			text, ok := strings.CutPrefix(line, name)
			if !ok {
				continue
			}
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")), 10, 64)
			if err != nil {
				return u, fmt.Errorf("process status parse: %w", err)
			}
			*to = kib << 10
		}
	}
	// The second field is the program's name in parentheses; times are fields 14 and 15.
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 || u.peak == 0 {
		return u, errors.New("process status parse: figures are missing")
	}
	for _, text := range fields[11:13] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return u, fmt.Errorf("process times parse: %w", err)
		}
		u.processor += time.Duration(n) * time.Second / ticks
	}
	return u, nil
}

func remaining(list *corev1.PodList) int64 {
	if list.RemainingItemCount == nil {
		return 0
	}
	return *list.RemainingItemCount
}
