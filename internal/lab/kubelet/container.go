package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
)

// Back-off between restarts. The first restart is immediate and a container
// that ran for backoffReset starts afresh, as with the kubelet; its steps of
// 10 s to 5 min are shortened.
const (
	firstBackoff = time.Second
	lastBackoff  = 30 * time.Second
	backoffReset = 10 * time.Minute
)

// container is one container of a pod: a process, started again and again.
type container struct {
	pod                          *pod
	spec                         corev1.Container
	process                      proc.Spec
	startup, readiness, liveness *check

	mu     sync.Mutex
	status corev1.ContainerStatus
	life   context.Context // of the process that runs now; nil before the first
}

// newContainer resolves everything that a container's process needs.
func (p *pod) newContainer(ctx context.Context, spec corev1.Container) (*container, error) {
	c := &container{pod: p, spec: spec}
	if len(spec.EnvFrom) > 0 || spec.Lifecycle != nil {
		return nil, fmt.Errorf("container %s: envFrom and lifecycle hooks: %w", spec.Name, errUnsupported)
	}
	binary, err := p.kubelet.image(spec.Image)
	if err != nil {
		return nil, fmt.Errorf("container %s: %w", spec.Name, err)
	}
	for _, probe := range []struct {
		into *(*check)
		from *corev1.Probe
	}{{&c.startup, spec.StartupProbe}, {&c.readiness, spec.ReadinessProbe}, {&c.liveness, spec.LivenessProbe}} {
		if *probe.into, err = p.newCheck(spec, probe.from); err != nil {
			return nil, err
		}
	}
	if c.readiness != nil {
		c.readiness.eager = true
	}
	base, err := p.world(spec)
	if err != nil {
		return nil, err
	}
	variables, err := p.environment(ctx, spec, base)
	if err != nil {
		return nil, fmt.Errorf("container %s: %w", spec.Name, err)
	}
	known, paths := map[string]string{}, p.paths(spec)
	var env []string
	for _, v := range variables {
		known[v.name] = v.value
		env = append(env, v.name+"="+paths.Replace(v.value))
	}
	// The command's first word is the program inside the image, which the
	// binary stands for; further words and the arguments are passed on.
	var args []string
	for i, arg := range append(append([]string{}, spec.Command...), spec.Args...) {
		if i == 0 && len(spec.Command) > 0 {
			continue
		}
		args = append(args, paths.Replace(expand(arg, known)))
	}
	c.process = proc.Spec{
		Name: p.object.Name + "/" + spec.Name, Path: binary, Args: args, Env: env, Dir: p.dir,
		LogFile: p.kubelet.logFile(p.object.Namespace, p.object.Name, spec.Name),
	}
	c.status = corev1.ContainerStatus{Name: spec.Name, Image: spec.Image, ImageID: binary}
	return c, nil
}

// world is what a process finds around it before the pod spec adds to it.
func (p *pod) world(spec corev1.Container) ([]variable, error) {
	temp := filepath.Join(p.dir, "tmp")
	if err := os.MkdirAll(temp, 0o700); err != nil {
		return nil, fmt.Errorf("container %s: %w", spec.Name, err)
	}
	out := []variable{{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOSTNAME", p.object.Name}, {"HOME", p.dir}, {"TMPDIR", temp}, {install.EnvLoopback, p.address.loopback}}
	config, err := p.kubeconfig(spec)
	if err != nil {
		return nil, fmt.Errorf("container %s: %w", spec.Name, err)
	}
	if config != "" {
		out = append(out, variable{"KUBECONFIG", config})
	}
	for _, e := range p.kubelet.options.Env {
		name, value, _ := strings.Cut(e, "=")
		out = append(out, variable{name, value})
	}
	return out, nil
}

// run keeps the process running as the restart policy says until ctx ends;
// then it stops it within the pod's grace period.
func (c *container) run(ctx context.Context) {
	backoff := time.Duration(0)
	for {
		began := time.Now()
		code := c.once(ctx)
		if ctx.Err() != nil || !restarts(c.pod.object.Spec.RestartPolicy, code) {
			return
		}
		if time.Since(began) >= backoffReset {
			backoff = 0
		}
		if backoff > 0 {
			c.set(func(s *corev1.ContainerStatus) {
				s.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
					Reason: "CrashLoopBackOff", Message: fmt.Sprintf("back-off %s restarting failed container", backoff),
				}}
			})
			if !pause(ctx, backoff) {
				return
			}
		}
		backoff = min(max(2*backoff, firstBackoff), lastBackoff)
		c.set(func(s *corev1.ContainerStatus) { s.RestartCount++ })
	}
}

// once is one life of the process; it returns the exit code.
func (c *container) once(ctx context.Context) int {
	process, err := c.pod.kubelet.options.Processes.Start(c.process)
	if err != nil {
		now := metav1.Now()
		c.terminated(now, now, 128, "StartError", err.Error())
		return 128
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	started := metav1.NewTime(process.Started)
	c.mu.Lock()
	c.life = life
	c.mu.Unlock()
	c.set(func(s *corev1.ContainerStatus) {
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}
		up := c.startup == nil
		s.Started = &up
		s.Ready = up && c.readiness == nil
	})
	probing, stopProbing := context.WithCancel(ctx)
	unhealthy := make(chan string, 1)
	var probes sync.WaitGroup
	probes.Go(func() { c.probe(probing, unhealthy) })
	message := ""
	select {
	case <-process.Done():
	case <-ctx.Done():
		process.Stop(c.pod.gracePeriod())
	case message = <-unhealthy:
		process.Stop(c.pod.gracePeriod())
	}
	stopProbing()
	probes.Wait()
	code, reason := process.ExitCode(), "Completed"
	if code != 0 {
		reason = "Error"
		if message == "" && c.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
			message = tail(c.process.LogFile)
		}
	}
	c.terminated(started, metav1.Now(), int32(code), reason, message)
	return code
}

// probe runs the startup probe, then readiness and liveness side by side.
func (c *container) probe(ctx context.Context, unhealthy chan<- string) {
	kill := func(which string, err error) {
		c.pod.kubelet.options.Logger.Warn("container fails its probe", "pod", c.pod.object.Name, "container", c.spec.Name, "probe", which, "error", err)
		select {
		case unhealthy <- fmt.Sprintf("%s probe failed: %v", which, err):
		default:
		}
	}
	if c.startup != nil {
		starting, done := context.WithCancel(ctx)
		c.startup.run(starting, func(ok bool, err error) {
			if ok {
				up := true
				c.set(func(s *corev1.ContainerStatus) { s.Started = &up; s.Ready = c.readiness == nil })
			} else {
				kill("startup", err)
			}
			done()
		})
		done()
		if ctx.Err() != nil {
			return
		}
	}
	var both sync.WaitGroup
	defer both.Wait()
	if c.readiness != nil {
		both.Go(func() {
			c.readiness.run(ctx, func(ok bool, _ error) { c.set(func(s *corev1.ContainerStatus) { s.Ready = ok }) })
		})
	}
	if c.liveness != nil {
		both.Go(func() {
			c.liveness.run(ctx, func(ok bool, err error) {
				if !ok {
					kill("liveness", err)
				}
			})
		})
	}
}

// terminated records the end of a life.
func (c *container) terminated(start, end metav1.Time, code int32, reason, message string) {
	c.set(func(s *corev1.ContainerStatus) {
		down := false
		state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: reason, Message: message, StartedAt: start, FinishedAt: end,
		}}
		s.State, s.LastTerminationState, s.Ready, s.Started = state, state, false, &down
	})
}

// set changes the status and has it reported.
func (c *container) set(change func(*corev1.ContainerStatus)) {
	c.mu.Lock()
	change(&c.status)
	c.mu.Unlock()
	c.pod.dirty()
}

// running is the life of the process that runs now; false where none does.
func (c *container) running() (life context.Context, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.life, c.life != nil && c.life.Err() == nil
}

func (c *container) snapshot() corev1.ContainerStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.status.DeepCopy()
}

func restarts(policy corev1.RestartPolicy, code int) bool {
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

// tail is the end of a log, as much as a termination message may hold.
func tail(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	const most = 2048
	return string(raw[max(0, len(raw)-most):])
}
