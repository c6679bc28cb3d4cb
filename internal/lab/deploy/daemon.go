package deploy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

// Unlimited is the administrator's access, without a rate limit.
func Unlimited(l *lab.Lab) *rest.Config {
	config := rest.CopyConfig(l.AdminConfig)
	config.QPS = -1
	return config
}

// Apply declares the objects, and waits until the last one is as it has to be.
func Apply(ctx context.Context, applier *kube.Applier, done kube.Check, objects ...*unstructured.Unstructured) error {
	for _, o := range objects {
		if _, err := applier.Apply(ctx, o, false); err != nil {
			return err
		}
	}
	_, err := applier.Wait(ctx, kube.RefOf(objects[len(objects)-1]), done)
	return err
}

// MetricsURL is where a replica of the daemon serves its metrics. The stand-in of a
// kubelet gave a loopback address to its process.
func MetricsURL(pid int) (string, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return "", fmt.Errorf("daemon's environment read: %w", err)
	}
	for variable := range strings.SplitSeq(string(raw), "\x00") {
		if address, ok := strings.CutPrefix(variable, install.EnvBindAddress+"="); ok {
			return fmt.Sprintf("http://%s:%d%s", address, install.MetricsPort, install.MetricsPath), nil
		}
	}
	return "", fmt.Errorf("daemon's environment read: no %s", install.EnvBindAddress)
}

// Metrics reads the values of metrics without labels, in the order of their names. One that is
// not served is an error.
func Metrics(ctx context.Context, url string, names ...string) ([]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("daemon's metrics read: %w", err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("daemon's metrics read: %w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("daemon's metrics read: %w", err)
	}
	text, values := "\n"+string(body), make([]float64, len(names))
	for i, name := range names {
		_, rest, there := strings.Cut(text, "\n"+name+" ")
		if !there {
			return nil, fmt.Errorf("daemon's metrics read: no %s", name)
		}
		value, _, _ := strings.Cut(rest, "\n")
		if values[i], err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil {
			return nil, fmt.Errorf("daemon's metrics read: %s: %w", name, err)
		}
	}
	return values, nil
}

// Log is what the replicas of the daemon have written, one after the other.
func Log(l *lab.Lab) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(l.LogDir(), install.DefaultNamespace+"_*_"+install.DefaultName+".log"))
	if err != nil {
		return nil, fmt.Errorf("daemon's log read: %w", err)
	}
	var all []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("daemon's log read: %w", err)
		}
		all = append(all, text...)
	}
	return all, nil
}

// KeepLog copies the daemon's log to a file, unless its name is empty.
func KeepLog(l *lab.Lab, file string) error {
	if file == "" {
		return nil
	}
	text, err := Log(l)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}
