//go:build lab

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/kubelet"
)

const bootstrapNode = "bootstrap-1"

// startKubelet starts a stand-in whose image ours/program is this test binary.
func startKubelet(t *testing.T, b bare) {
	t.Helper()
	config, err := b.Client("system:node:"+bootstrapNode, "system:nodes")
	if err != nil {
		t.Fatal(err)
	}
	serving, err := b.Server("system:node:" + bootstrapNode)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k, err := kubelet.Start(t.Context(), kubelet.Options{
		Name: bootstrapNode, Config: config, Dir: b.dir, InternalIP: "10.0.0.11", Version: "v1.36.3",
		CertPEM: serving.Cert, KeyPEM: serving.Key, APIServer: controlplane.KubeletClient,
		Annotations: map[string]string{controlplane.NodeAnnotation: controlplane.NodeAnnotationValue},
		Taints:      []corev1.Taint{{Key: "CriticalAddonsOnly", Value: "true", Effect: corev1.TaintEffectNoSchedule}},
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("20"),
		},
		Images: map[string]string{"ours/program": self}, Env: []string{roleVariable + "=pod"},
		Addresses: kubelet.NewAddresses(), Processes: b.processes, Logger: hclog.NewNullLogger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
}

func programPod(name, image string) *corev1.Pod {
	seconds := int64(5)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PodSpec{
			Tolerations:                   []corev1.Toleration{{Key: "CriticalAddonsOnly", Operator: corev1.TolerationOpExists}},
			TerminationGracePeriodSeconds: &seconds,
			Containers: []corev1.Container{{
				Name: "program", Image: image, Args: []string{"alone", "$(POD_IP):8080"},
				Env:            []corev1.EnvVar{{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}},
				Ports:          []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromString("http")}}},
			}},
		},
	}
}

func createPod(t *testing.T, b bare, pod *corev1.Pod) {
	t.Helper()
	eventually(t, func() error { // the namespace's service account comes a moment later
		_, err := b.clients.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// podIs waits until the first container's status satisfies a condition.
func podIs(t *testing.T, b bare, name string, what string, ok func(*corev1.Pod, corev1.ContainerStatus) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, func() error {
		var err error
		pod, err = b.clients.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if len(pod.Status.ContainerStatuses) == 0 || !ok(pod, pod.Status.ContainerStatuses[0]) {
			return fmt.Errorf("pod %s is not %s: %+v", name, what, pod.Status)
		}
		return nil
	})
	return pod
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		return err.Error() // the program may end before it answers
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func kubeletRunsAPod(t *testing.T, b bare) {
	createPod(t, b, programPod("program", "ours/program:v1"))
	pod := podIs(t, b, "program", "ready", func(_ *corev1.Pod, s corev1.ContainerStatus) bool { return s.Ready })
	if pod.Status.Phase != corev1.PodRunning || !strings.HasPrefix(pod.Status.PodIP, "10.200.") {
		t.Errorf("phase %s, address %s; want Running, 10.200.x", pod.Status.Phase, pod.Status.PodIP)
	}

	logFile := filepath.Join(b.dir, "logs", "default_program_program.log")
	address := localAddress(t, "alone")
	env := get(t, "http://"+address+":8080/env")
	for _, want := range []string{"POD_IP=" + address, "HOSTNAME=program", "KUBECONFIG="} {
		if !strings.Contains(env, want) {
			t.Errorf("environment lacks %s:\n%s", want, env)
		}
	}
	kubeconfig := valueOf(env, "KUBECONFIG")
	raw, err := os.ReadFile(kubeconfig)
	if err != nil || !strings.Contains(string(raw), "tokenFile:") {
		t.Errorf("kubeconfig %s: %v, want one with a token file", raw, err)
	}

	get(t, "http://"+address+":8080/exit")
	podIs(t, b, "program", "ready after a restart", func(_ *corev1.Pod, s corev1.ContainerStatus) bool {
		return s.Ready && s.RestartCount == 1 && s.LastTerminationState.Terminated != nil && s.LastTerminationState.Terminated.ExitCode == 3
	})

	// As the control plane says of pods whose node was silent.
	patch := []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	if _, err := b.clients.CoreV1().Pods("default").Patch(t.Context(), "program", types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	podIs(t, b, "program", "ready again", func(p *corev1.Pod, _ corev1.ContainerStatus) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue })
	})

	if err := b.clients.CoreV1().Pods("default").Delete(t.Context(), "program", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() error {
		_, err := b.clients.CoreV1().Pods("default").Get(t.Context(), "program", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("pod is still there: %w", err)
	})
	log, err := os.ReadFile(logFile)
	if err != nil || !strings.Contains(string(log), "told to stop") {
		t.Errorf("log %q, %v: the program was not sent SIGTERM", log, err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "pods", string(pod.UID))); !os.IsNotExist(err) {
		t.Errorf("the pod's directory is still there: %v", err)
	}
}

func unknownImageDoesNotRun(t *testing.T, b bare) {
	createPod(t, b, programPod("unknown", "other/program:v1"))
	pod := podIs(t, b, "unknown", "refused", func(_ *corev1.Pod, s corev1.ContainerStatus) bool {
		return s.State.Waiting != nil && s.State.Waiting.Reason == "ErrImagePull"
	})
	if got := pod.Status.ContainerStatuses[0].State.Waiting.Message; !strings.Contains(got, "other/program:v1") {
		t.Errorf("message %q does not name the image", got)
	}
}

// localAddress finds the address that the test pod's process was given, from
// the arguments of the process itself; mark is the first of them.
func localAddress(t *testing.T, mark string) string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		raw, err := os.ReadFile(path)
		words := strings.Split(strings.TrimRight(string(raw), "\x00"), "\x00")
		parent := filepath.Join(filepath.Dir(path), "stat")
		if err != nil || len(words) != 3 || words[1] != mark || !isChild(parent) {
			continue
		}
		if host, ok := strings.CutSuffix(words[2], ":8080"); ok {
			return host
		}
	}
	t.Fatal("no process of the pod found")
	return ""
}

// isChild says whether a process is one of ours (proc(5): the parent is the
// second field after the command name).
func isChild(statPath string) bool {
	raw, err := os.ReadFile(statPath)
	if err != nil {
		return false
	}
	fields := strings.Fields(string(raw)[strings.LastIndexByte(string(raw), ')')+1:])
	return len(fields) > 1 && fields[1] == fmt.Sprint(os.Getpid())
}

func valueOf(env, name string) string {
	for line := range strings.Lines(env) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"="); ok {
			return value
		}
	}
	return ""
}
