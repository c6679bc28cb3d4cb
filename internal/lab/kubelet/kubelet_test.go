package kubelet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

func TestExpand_FollowsKubernetesRules(t *testing.T) {
	known := map[string]string{"A": "1", "B": "$(A)"}
	for text, want := range map[string]string{
		"x$(A)y": "x1y", "$(B)": "$(A)", "$$(A)": "$(A)", "$(NONE)": "$(NONE)",
		"$A": "$A", "$(A": "$(A", "$": "$", "a$$b": "a$b", "$(A)$(A)": "11",
	} {
		if got := expand(text, known); got != want {
			t.Errorf("expand(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestRepository_DropsTagAndDigestNotPort(t *testing.T) {
	for reference, want := range map[string]string{
		"karpenterd": "karpenterd", "a/b:v1": "a/b", "r:5000/a/b": "r:5000/a/b",
		"r:5000/a/b:v1@sha256:00": "r:5000/a/b", "a@sha256:00": "a",
	} {
		if got := Repository(reference); got != want {
			t.Errorf("repository(%q) = %q, want %q", reference, got, want)
		}
	}
}

// testPod is a pod on a node whose API server knows one config map.
func testPod(t *testing.T) *pod {
	t.Helper()
	clients := fake.NewClientset(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "cm"}, Data: map[string]string{"k": "v", "dir.txt": "text"},
	})
	k := &Kubelet{clients: clients, addresses: NewAddresses(), ctx: t.Context(), options: Options{
		Name: "bootstrap-1", Dir: t.TempDir(), InternalIP: "10.0.0.11", Config: &rest.Config{Host: "https://api"},
		Env: []string{"AWS_ENDPOINT_URL=http://127.0.0.1:1"}, Images: map[string]string{"ours/daemon": "/bin/daemon"},
		Capacity: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi"), corev1.ResourceCPU: resource.MustParse("2")},
	}}
	return k.newPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "u-1", Labels: map[string]string{"app": "x"}},
		Spec:       corev1.PodSpec{NodeName: "bootstrap-1", ServiceAccountName: "sa"},
	})
}

func from(s corev1.EnvVarSource) *corev1.EnvVarSource { return &s }

func fieldRef(path string) *corev1.EnvVarSource {
	return from(corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}})
}

func TestNewContainer_ArgumentsAndEnvironmentSeeTheProcessWorld(t *testing.T) {
	p, yes := testPod(t), true
	p.object.Spec.Volumes = []corev1.Volume{{Name: "token"}, {Name: "scratch"}}
	c, err := p.newContainer(t.Context(), corev1.Container{
		Name: "c", Image: "ours/daemon:v1", Command: []string{"/daemon", "run"}, Args: []string{"--bind=$(POD_IP):8080", "--dir=/data/x", "--me=$(ME)"},
		VolumeMounts: []corev1.VolumeMount{{Name: "token", MountPath: "/var/run/token"}, {Name: "scratch", MountPath: "/data"}},
		Ports:        []corev1.ContainerPort{{Name: "http", ContainerPort: 8081}},
		Env: []corev1.EnvVar{
			{Name: "POD_IP", ValueFrom: fieldRef("status.podIP")},
			{Name: "ME", ValueFrom: fieldRef("metadata.labels['app']")},
			{Name: "FILE", Value: "/var/run/token/token"},
			{Name: "KEY", ValueFrom: from(corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}, Key: "k"}})},
			{Name: "NONE", ValueFrom: from(corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k", Optional: &yes}})},
			{Name: "MEMORY", ValueFrom: from(corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory", Divisor: resource.MustParse("1Mi")}})},
			{Name: "AWS_ENDPOINT_URL", Value: "http://own"},
		},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: intstr.FromString("http")}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	local := p.address.local
	if diff := cmp.Diff([]string{"run", "--bind=" + local + ":8080", "--dir=" + p.volumeDir("scratch") + "/x", "--me=x"}, c.process.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	env := map[string]string{}
	for _, e := range c.process.Env { // the last definition counts, as in a process
		name, value, _ := strings.Cut(e, "=")
		env[name] = value
	}
	for name, want := range map[string]string{
		"POD_IP": local, "ME": "x", "FILE": p.volumeDir("token") + "/token", "KEY": "v", "MEMORY": "2048",
		"AWS_ENDPOINT_URL": "http://own", "HOSTNAME": "p",
	} {
		if env[name] != want {
			t.Errorf("%s = %q, want %q", name, env[name], want)
		}
	}
	if _, set := env["NONE"]; set {
		t.Error("an optional key that is missing was set")
	}
	if !strings.HasPrefix(local, "127.") || !strings.HasPrefix(p.address.shown, "10.200.") {
		t.Errorf("address %+v, want 127.x for the process and 10.200.x for the API", p.address)
	}
}

func TestNewContainer_RefusesWhatItCannotRunAndNamesIt(t *testing.T) {
	exec := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{}}}
	for name, c := range map[string]struct {
		spec corev1.Container
		is   error
		says string
	}{
		"unknown image": {corev1.Container{Image: "other/thing:v1"}, errImage, "other/thing:v1 (it runs: ours/daemon)"},
		"command probe": {corev1.Container{Image: "ours/daemon", LivenessProbe: exec}, errUnsupported, "command"},
		"field path":    {corev1.Container{Image: "ours/daemon", Env: []corev1.EnvVar{{Name: "X", ValueFrom: fieldRef("spec.nope")}}}, errUnsupported, "spec.nope"},
		"envFrom":       {corev1.Container{Image: "ours/daemon", EnvFrom: []corev1.EnvFromSource{{}}}, errUnsupported, "envFrom"},
	} {
		_, err := testPod(t).newContainer(t.Context(), c.spec)
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error saying %q", name, err, c.says)
		}
	}
}

func TestCheck_EagerUntilItSucceedsThenAtItsPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var tried []string
		k := &check{period: 10 * time.Second, wait: time.Second, success: 1, failure: 1, eager: true, try: func(context.Context) error {
			tried = append(tried, time.Since(began).String())
			if len(tried) < 3 {
				return errors.New("not yet")
			}
			return nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		k.run(ctx, func(bool, error) {})
		if diff := cmp.Diff([]string{"0s", "500ms", "1s", "11s", "21s"}, tried); diff != "" {
			t.Errorf("tries (-want +got):\n%s", diff)
		}
	})
}

func TestMountVolumes_WritesWhatThePodRefersTo(t *testing.T) {
	p := testPod(t)
	p.object.Spec.Volumes = []corev1.Volume{
		{Name: "all", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}}},
		{Name: "mixed", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
			{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}, Items: []corev1.KeyToPath{{Key: "k", Path: "sub/k"}}}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}}}}},
		}}}},
	}
	if _, err := p.mountVolumes(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"all/k": "v", "all/dir.txt": "text", "mixed/sub/k": "v", "mixed/namespace": "ns"} {
		raw, err := os.ReadFile(filepath.Join(p.dir, "volumes", path))
		if err != nil || string(raw) != want {
			t.Errorf("%s = %q, %v; want %q", path, raw, err, want)
		}
	}
	p.object.Spec.Volumes = []corev1.Volume{{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}}}
	if _, err := p.mountVolumes(t.Context()); !errors.Is(err, errUnsupported) {
		t.Errorf("hostPath: %v, want errUnsupported", err)
	}
}

func TestCheck_ChangesOnlyAtItsThresholds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []bool{false, true, true, false, true, false, false, true, true}
		at := 0
		k := &check{period: time.Second, wait: time.Second, delay: 3 * time.Second, success: 2, failure: 2, try: func(context.Context) error {
			ok := answers[min(at, len(answers)-1)]
			at++
			if !ok {
				return errors.New("no")
			}
			return nil
		}}
		var got []string
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		k.run(ctx, func(ok bool, _ error) { got = append(got, fmt.Sprint(time.Since(began), " ", ok)) })
		if diff := cmp.Diff([]string{"5s true", "9s false", "11s true"}, got); diff != "" {
			t.Errorf("verdicts (-want +got):\n%s", diff)
		}
	})
}
