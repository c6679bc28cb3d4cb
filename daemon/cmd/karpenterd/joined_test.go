package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	apiversion "k8s.io/apimachinery/pkg/version"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
)

// controlPlane is a cluster that changes.
type controlPlane struct {
	cluster    aws.Cluster
	git, minor string
	err        error
}

func (p *controlPlane) Cluster(context.Context, string) (aws.Cluster, error) { return p.cluster, p.err }

func (p *controlPlane) ServerVersion() (*apiversion.Info, error) {
	return &apiversion.Info{Major: "1", Minor: p.minor, GitVersion: p.git}, nil
}

func TestJoined_FollowsAnUpgradeOfTheControlPlane(t *testing.T) {
	p := &controlPlane{cluster: aws.Cluster{Name: "lab", Endpoint: "https://one", CertificateAuthority: []byte("A"), ServiceCIDR: "10.0.0.0/16"}, git: "v1.34.2-eks-1", minor: "34+"}
	j := &joined{name: "lab", eks: p, versions: p, logger: hclog.NewNullLogger()}
	look := func(want family.Cluster) {
		t.Helper()
		got := j.now()
		if got.Endpoint != want.Endpoint || !bytes.Equal(got.CertificateAuthority, want.CertificateAuthority) || got.Kubernetes != want.Kubernetes {
			t.Errorf("cluster %+v, want %+v", got, want)
		}
	}
	if err := j.look(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	look(family.Cluster{Endpoint: "https://one", CertificateAuthority: []byte("A"), Kubernetes: "1.34"})
	p.cluster.Endpoint, p.cluster.CertificateAuthority, p.minor, p.git = "https://two", []byte("B"), "35+", "v1.35.0-eks-1"
	p.err = errors.New("throttled")
	if err := j.look(t.Context(), time.Now()); !errors.Is(err, p.err) {
		t.Errorf("error %v", err)
	}
	look(family.Cluster{Endpoint: "https://one", CertificateAuthority: []byte("A"), Kubernetes: "1.34"})
	p.err, p.minor = nil, "34+" // an old API server answers
	step := func() {
		t.Helper()
		if err := j.look(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	step()
	look(family.Cluster{Endpoint: "https://two", CertificateAuthority: []byte("B"), Kubernetes: "1.34"})
	p.minor = "35+"
	step()
	look(family.Cluster{Endpoint: "https://two", CertificateAuthority: []byte("B"), Kubernetes: "1.34"})
	p.cluster.Endpoint, p.cluster.CertificateAuthority = "", nil // EKS says nothing of them
	step()
	look(family.Cluster{Endpoint: "https://two", CertificateAuthority: []byte("B"), Kubernetes: "1.35"})
	p.git, p.minor, p.cluster.Endpoint = "v1.29.0", "29", "https://three"
	if err := j.look(t.Context(), time.Now()); err == nil {
		t.Error("an unsupported version is no error")
	}
	look(family.Cluster{Endpoint: "https://three", CertificateAuthority: []byte("B"), Kubernetes: "1.35"})
	p.git, p.minor = "v1.99.0-eks-1", "99+"
	step()
	step()
	look(family.Cluster{Endpoint: "https://three", CertificateAuthority: []byte("B"), Kubernetes: "1.99"})
}

// A control plane that is newer than the daemon is told of, once, and holds nothing up: also
// not the start of a daemon.
func TestJoined_TellsOnceOfAVersionThatIsNewerThanTheDaemon(t *testing.T) {
	p := &controlPlane{cluster: aws.Cluster{Name: "lab", Endpoint: "https://one"}, git: "v1.37.1", minor: "37"}
	var log bytes.Buffer
	j := &joined{name: "lab", eks: p, versions: p, logger: hclog.New(&hclog.LoggerOptions{Output: &log})}
	var told []string
	look := j.lookAndTell(func(_ context.Context, newer string) { told = append(told, newer) })
	for _, step := range []struct {
		minor, last string // of all that was told
		count       int
	}{
		{"37", "", 0},
		{"38", "", 0}, // one look is not enough
		{"38", `"1.38" is newer`, 1},
		{"38", `"1.38" is newer`, 1},
		{"39", `"1.38" is newer`, 1},
		{"39", `"1.39" is newer`, 2},
	} {
		p.git, p.minor = "v1."+step.minor+".0", step.minor
		if err := look(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if len(told) != step.count || step.count > 0 && !strings.Contains(told[step.count-1], step.last) {
			t.Errorf("1.%s: told %q", step.minor, told)
		}
	}
	if n := strings.Count(log.String(), "is newer than 1.30 to 1.37"); n != 2 {
		t.Errorf("logged %d times: %s", n, log.String())
	}
	minor, err := minorVersion(p)
	begun := &joined{name: "lab", eks: p, versions: p, logger: hclog.New(&hclog.LoggerOptions{Output: &log})}
	if err := errors.Join(err, begun.read(t.Context(), minor)); err != nil || begun.now().Kubernetes != "1.39" {
		t.Errorf("begun with %+v, %v", begun.now(), err)
	}
	if n := strings.Count(log.String(), "is newer than 1.30 to 1.37"); n != 3 {
		t.Errorf("a daemon that begins logged %d times: %s", n-2, log.String())
	}
}

func TestJoined_TheCertificateAuthorityOfTheSettingsStays(t *testing.T) {
	p := &controlPlane{cluster: aws.Cluster{Name: "lab", Endpoint: "https://one", CertificateAuthority: []byte("A")}, git: "v1.34.2", minor: "34"}
	j := &joined{name: "lab", bundle: []byte("own"), eks: p, versions: p, logger: hclog.NewNullLogger()}
	for range 2 {
		if err := j.look(t.Context(), time.Now()); err != nil || string(j.now().CertificateAuthority) != "own" {
			t.Errorf("cluster %+v, %v", j.now(), err)
		}
		p.cluster.CertificateAuthority = []byte("B")
	}
}

func TestJoined_TheEndpointOfTheSettingsStays(t *testing.T) {
	p := &controlPlane{cluster: aws.Cluster{Name: "lab", Endpoint: "https://one"}, git: "v1.34.2", minor: "34"}
	j := &joined{name: "lab", endpoint: "https://private", eks: p, versions: p, logger: hclog.NewNullLogger()}
	if err := j.look(t.Context(), time.Now()); err != nil || j.now().Endpoint != "https://private" {
		t.Errorf("cluster %+v, %v", j.now(), err)
	}
}

func TestJoined_NamespacesAreSelectedAsTheSchedulerOfTheClusterDoes(t *testing.T) {
	for version, want := range map[string]bool{"1.30": false, "1.36": false, "1.37": true, "1.38": true, "": false} {
		if got := (&joined{latest: family.Cluster{Kubernetes: version}}).exactNamespaces(); got != want {
			t.Errorf("%q: %t", version, got)
		}
	}
}

// A daemon that knows the endpoint starts in a network without a way to EKS, and learns the rest
// once there is one.
func TestJoined_StartsWithoutEKSWhereTheEndpointIsKnown(t *testing.T) {
	for _, cause := range []error{aws.ErrUnreachable, context.DeadlineExceeded} {
		p := &controlPlane{err: cause, git: "v1.34.2-eks-1", minor: "34+"}
		var log bytes.Buffer
		j := &joined{name: "lab", endpoint: "https://private", own: []byte("ours"), eks: p, versions: p, logger: hclog.New(&hclog.LoggerOptions{Output: &log})}
		if err := j.read(t.Context(), "1.34"); err != nil {
			t.Fatal(err)
		}
		if is := j.now(); is.Name != "lab" || is.Endpoint != "https://private" || string(is.CertificateAuthority) != "ours" || is.ServiceCIDR != "" || is.Kubernetes != "1.34" {
			t.Errorf("cluster %+v", is)
		}
		if !strings.Contains(log.String(), "EKS cannot be reached") {
			t.Errorf("said %s", log.String())
		}
		if err := j.look(t.Context(), time.Now()); !errors.Is(err, cause) || j.now().Endpoint != "https://private" {
			t.Errorf("cluster %+v, %v", j.now(), err)
		}
		p.err, p.cluster = nil, aws.Cluster{Name: "lab", Endpoint: "https://public", CertificateAuthority: []byte("A"), ServiceCIDR: "10.0.0.0/16"}
		if err := j.look(t.Context(), time.Now()); err != nil || j.now().ServiceCIDR != "10.0.0.0/16" || string(j.now().CertificateAuthority) != "A" {
			t.Errorf("cluster %+v, %v", j.now(), err)
		}
	}
	for name, j := range map[string]*joined{
		"no endpoint": {name: "lab", eks: &controlPlane{err: aws.ErrUnreachable}},
		"refused":     {name: "lab", endpoint: "https://private", eks: &controlPlane{err: aws.ErrUnauthorized}},
	} {
		j.logger = hclog.NewNullLogger()
		if err := j.read(t.Context(), "1.34"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := explain(aws.ErrUnreachable); !strings.Contains(err.Error(), "EKS cannot be reached") || !strings.Contains(err.Error(), "--cluster-endpoint") {
		t.Errorf("said %v", err)
	}
}

// keptCluster is what the ConfigMap has of the cluster.
type keptCluster struct {
	cluster aws.Cluster
	err     error
	writes  int
}

func (k *keptCluster) Cluster(context.Context, string) (aws.Cluster, error) { return k.cluster, k.err }

func (k *keptCluster) KeepCluster(_ context.Context, c aws.Cluster) error {
	k.cluster = c
	k.writes++
	return nil
}

// An outage of EKS must leave no cluster without its autoscaler.
func TestJoined_StartsWithWhatEKSSaidLast(t *testing.T) {
	said := aws.Cluster{Name: "lab", Endpoint: "https://one", CertificateAuthority: []byte("A"), ServiceCIDR: "10.0.0.0/16"}
	p, kept := &controlPlane{cluster: said}, &keptCluster{}
	first := &joined{name: "lab", eks: p, kept: kept, logger: hclog.NewNullLogger()}
	for range 3 {
		if err := first.read(t.Context(), "1.36"); err != nil {
			t.Fatal(err)
		}
	}
	if kept.writes != 1 {
		t.Errorf("written %d times, want once for the same answer", kept.writes)
	}
	for _, cause := range []error{aws.ErrUnreachable, aws.ErrThrottled, context.DeadlineExceeded, errors.New("InternalFailure")} {
		next := &joined{name: "lab", eks: &controlPlane{err: cause}, kept: kept, logger: hclog.NewNullLogger()}
		if err := next.read(t.Context(), "1.36"); err != nil {
			t.Errorf("%v: %v", cause, err)
		}
		if is := next.now(); is.Endpoint != said.Endpoint || string(is.CertificateAuthority) != "A" || is.ServiceCIDR != said.ServiceCIDR {
			t.Errorf("%v: cluster %+v", cause, is)
		}
	}
	for _, answer := range []error{aws.ErrUnauthorized, aws.ErrNotFound, aws.ErrCredentials} {
		if err := (&joined{name: "lab", eks: &controlPlane{err: answer}, kept: kept, logger: hclog.NewNullLogger()}).read(t.Context(), "1.36"); !errors.Is(err, answer) {
			t.Errorf("%v: %v", answer, err)
		}
	}
	none := &keptCluster{err: errors.New("not there")}
	if err := (&joined{name: "lab", eks: &controlPlane{err: aws.ErrUnreachable}, kept: none, logger: hclog.NewNullLogger()}).read(t.Context(), "1.36"); !errors.Is(err, aws.ErrUnreachable) {
		t.Errorf("nothing is kept: %v", err)
	}
}
