package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
)

// plane is a control plane whose components are shell scripts.
func plane(t *testing.T) *ControlPlane {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	set, err := proc.NewSet(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close(time.Second) })
	return &ControlPlane{running: map[string]*proc.Process{}, options: Options{Dir: dir, Processes: set, Logger: hclog.NewNullLogger()}}
}

func TestRetryPort_AnotherPortAfterARace(t *testing.T) {
	c := plane(t)
	var ports []int
	port, err := c.retryPort(t.Context(), "fake", func(port int) (*proc.Process, error) {
		ports = append(ports, port)
		script := "echo listen tcp: bind: address already in use; exit 1"
		if len(ports) == 3 {
			script = "exec sleep 60"
		}
		return c.run("fake", "/bin/sh", []string{"-c", script})
	}, func(context.Context, int) error {
		if len(ports) == 3 {
			return nil
		}
		return errors.New("not yet")
	})
	if err != nil || len(ports) != 3 || port != ports[2] {
		t.Errorf("port %d of %v, %v; want the third", port, ports, err)
	}
}

func TestRetryPort_OtherFailuresAreReportedWithTheLog(t *testing.T) {
	c := plane(t)
	_, err := c.retryPort(t.Context(), "fake", func(int) (*proc.Process, error) {
		return c.run("fake", "/bin/sh", []string{"-c", "echo unknown flag: --nope; exit 3"})
	}, func(context.Context, int) error { return errors.New("not yet") })
	if !errors.Is(err, ErrExited) || !strings.Contains(err.Error(), "unknown flag: --nope") || !strings.Contains(err.Error(), "exit code 3") {
		t.Errorf("error %v, want ErrExited with exit code and log", err)
	}
}

func TestStages_EveryPodStageAsksWhetherThePodIsKwoks(t *testing.T) {
	raw, err := stages([]string{"bootstrap-1", "bootstrap-2"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		var stage struct {
			Kind     string
			Metadata struct{ Name string }
			Spec     struct {
				ResourceRef struct{ Kind string }
				Selector    struct {
					MatchExpressions []struct {
						Key, Operator string
						Values        []string
					}
				}
			}
		}
		if err := yaml.Unmarshal([]byte(document), &stage); err != nil {
			t.Fatal(err)
		}
		if stage.Kind != "Stage" {
			t.Errorf("kind %q, want Stage", stage.Kind)
		}
		names = append(names, stage.Metadata.Name)
		guard := stage.Spec.Selector.MatchExpressions[0]
		if stage.Spec.ResourceRef.Kind == "Pod" && (!strings.Contains(guard.Key, `["bootstrap-1","bootstrap-2"]`) || guard.Operator != "NotIn") {
			t.Errorf("%s: first selector %+v does not except the bootstrap nodes", stage.Metadata.Name, guard)
		}
	}
	if got := strings.Join(names, " "); got != "node-initialize node-heartbeat-with-lease pod-ready pod-ready-again pod-complete pod-delete" {
		t.Errorf("stages %s", got)
	}
}

func TestAuthority_ServingAndClientCertificatesAreItsOwn(t *testing.T) {
	a, err := NewAuthority()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.PEM())
	parse := func(p Pair, err error) *x509.Certificate {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		pair, err := tls.X509KeyPair(p.Cert, p.Key)
		if err != nil {
			t.Fatal(err)
		}
		return pair.Leaf
	}
	server := parse(a.Server("kube-apiserver"))
	if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: "127.0.0.1"}); err != nil {
		t.Errorf("serving certificate: %v", err)
	}
	client := parse(a.Client("system:node:n", "system:nodes"))
	if _, err := client.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Errorf("client certificate: %v", err)
	}
	if client.Subject.CommonName != "system:node:n" || client.Subject.Organization[0] != "system:nodes" {
		t.Errorf("client subject %v, want user and group", client.Subject)
	}
}
