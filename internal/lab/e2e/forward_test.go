//go:build lab

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// shell is somebody with kubectl and the administrator's rights.
type shell struct {
	kubectl string
	env     []string
}

func (b bare) shell(t *testing.T) shell {
	t.Helper()
	tools, err := toolchain.Ensure(t.Context(), os.Stderr, toolchain.Kubectl)
	if err != nil {
		t.Fatal(err)
	}
	return shell{tools[toolchain.Kubectl].Path, []string{"HOME=" + t.TempDir(), "KUBECONFIG=" + b.AdminKubeconfig}}
}

// run is what a command of kubectl prints, and its complaints where it fails.
func (s shell) run(t *testing.T, words ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.kubectl, words...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out) + err.Error()
	}
	return string(out)
}

// forward runs kubectl port-forward to a port of a pod and returns where kubectl
// listens. end waits for kubectl and returns its complaints; stop makes it end.
func (s shell) forward(t *testing.T, pod string, port int) (address string, stop func(), end func() string) {
	t.Helper()
	var complaints bytes.Buffer
	cmd := exec.CommandContext(t.Context(), s.kubectl, "port-forward", "--address=127.0.0.1", "pod/"+pod, fmt.Sprintf(":%d", port))
	cmd.Env, cmd.Stderr = s.env, &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("kubectl port-forward: %v: %s", err, &complaints)
	}
	found := regexp.MustCompile(`from (127\.0\.0\.1:\d+) ->`).FindStringSubmatch(line)
	if found == nil {
		t.Errorf("kubectl port-forward says %q, not where it listens", line)
		found = []string{"", ""}
	}
	return found[1], func() { _ = cmd.Process.Kill() }, func() string {
		_, _ = lines.WriteTo(bytes.NewBuffer(nil)) // until kubectl has ended
		_ = cmd.Wait()
		return complaints.String()
	}
}

// forwardedPod has a container that listens on the pod's address, one that
// listens on the pod's localhost, and one that says that it cannot listen.
func forwardedPod() *corev1.Pod {
	pod := programPod("forwarded", "ours/program:v1")
	onLocalhost, broken := *pod.Spec.Containers[0].DeepCopy(), *pod.Spec.Containers[0].DeepCopy()
	onLocalhost.Name, onLocalhost.Args, onLocalhost.ReadinessProbe, onLocalhost.Ports = "localhost", []string{"$(KARPENTERD_LOOPBACK):8082"}, nil, nil
	broken.Name, broken.Args, broken.ReadinessProbe, broken.Ports = "broken", []string{"nowhere"}, nil, nil
	pod.Spec.Containers[0].Args = []string{"forwarded", "$(POD_IP):8080"}
	pod.Spec.Containers = append(pod.Spec.Containers, onLocalhost, broken)
	return pod
}

func forwardReachesLocalhost(t *testing.T, b bare) {
	createPod(t, b, forwardedPod())
	podIs(t, b, "forwarded", "up", func(pod *corev1.Pod, _ corev1.ContainerStatus) bool {
		return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == "program" && s.Ready }) &&
			slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == "broken" && s.RestartCount > 0 })
	})
	s := b.shell(t)
	local := localAddress(t, "forwarded")

	var env string
	eventually(t, func() error { // the container may not listen yet: then kubectl ends
		address, stop, end := s.forward(t, "forwarded", 8082)
		defer end()
		defer stop()
		if env = get(t, "http://"+address+"/env"); valueOf(env, "KARPENTERD_LOOPBACK") == "" {
			return fmt.Errorf("the pod's localhost is not reached: %s", env)
		}
		return nil
	})
	if got := valueOf(env, "KARPENTERD_LOOPBACK"); !strings.HasPrefix(got, "127.") || got == local || got == "127.0.0.1" {
		t.Errorf("localhost is %s, want one of 127.0.0.0/8 that is neither 127.0.0.1 nor the pod's %s", got, local)
	}

	answer, err := http.Get("http://" + local + ":8080/readyz")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	address, stop, end := s.forward(t, "forwarded", 8080)
	defer stop()
	get(t, "http://"+address+"/env")
	if complaints := end(); !strings.Contains(complaints, "failed to connect to localhost:8080") || !strings.Contains(complaints, "connection refused") {
		t.Errorf("a port of the pod's address: kubectl says %q, want that it is refused", complaints)
	}

	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const nowhere = "listen tcp: address nowhere: missing port in address\n" // of the program, to its stdout
	for _, c := range []struct {
		words, want []string
	}{
		{[]string{"exec", "forwarded", "-c", "program", "--", filepath.Base(self), "nowhere"}, []string{nowhere, "command terminated with exit code 1\n"}},
		{[]string{"exec", "forwarded", "-c", "program", "--", "sh"}, []string{`exec: "sh": executable file not found in $PATH`}},
		{[]string{"logs", "forwarded", "-c", "broken"}, []string{nowhere}},
	} {
		got := s.run(t, c.words...)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("kubectl %s: %q, want %q in it", strings.Join(c.words, " "), got, want)
			}
		}
	}
}
