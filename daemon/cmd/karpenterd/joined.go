package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"k8s.io/client-go/discovery"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// joined keeps up to date what instances must know of the cluster that they join: its
// control plane may be upgraded while the daemon runs.
type joined struct {
	name     string
	endpoint string // at which nodes reach the API server; empty: that of EKS
	bundle   []byte // certificates by which nodes know it, PEM; empty: those of EKS
	own      []byte // those by which the daemon knows it, where EKS cannot be asked
	eks      interface {
		Cluster(ctx context.Context, name string) (aws.Cluster, error)
	}
	// kept is where what EKS has said stays for a daemon that starts while EKS does not answer;
	// nil: nowhere.
	kept interface {
		Cluster(ctx context.Context, name string) (aws.Cluster, error)
		KeepCluster(ctx context.Context, c aws.Cluster) error
	}
	versions discovery.ServerVersionInterface
	logger   hclog.Logger

	seen string      // version at the last look
	said aws.Cluster // what EKS said and is kept; only read uses it

	mu     sync.Mutex
	latest family.Cluster
}

// now returns the cluster as it was last seen.
func (j *joined) now() family.Cluster {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.latest
}

// exactlyFrom is the first minor version of Kubernetes whose scheduler selects namespaces by
// their labels alone; see topology.Known.Build.
const exactlyFrom = 37

// exactNamespaces says whether the scheduler of the cluster does so.
func (j *joined) exactNamespaces() bool { return minorNumber(j.now().Kubernetes) >= exactlyFrom }

// read asks EKS. The minor version of Kubernetes is given.
func (j *joined) read(ctx context.Context, minor string) error {
	was := j.now()
	found, err := j.ask(ctx)
	last, known := j.lastKnown(ctx, err)
	switch {
	case err == nil:
		j.keep(ctx, found)
	case known:
		j.logger.Warn("EKS does not answer, so nodes get the endpoint, the certificate authority and the service CIDR that it said last", "cluster", j.name, "endpoint", last.Endpoint, "error", err)
		found = last
	case was.Name == "" && j.endpoint != "" && len(j.own)+len(j.bundle) > 0 && aws.Unanswered(err):
		j.logger.Warn("EKS cannot be reached, so nodes get the endpoint and the certificate authority that the daemon has, and nobody has checked the cluster's name and region; nodes of most families also need the cluster's service CIDR, which EKS says: correct --region or --cluster-name, or give the daemon a way to EKS and STS, such as VPC endpoints", "cluster", j.name, "error", err)
		found = aws.Cluster{Name: j.name, CertificateAuthority: j.own}
	default:
		return err
	}
	is := family.Cluster{
		Name: found.Name, Endpoint: cmp.Or(j.endpoint, found.Endpoint, was.Endpoint), ServiceCIDR: cmp.Or(found.ServiceCIDR, was.ServiceCIDR),
		CertificateAuthority: found.CertificateAuthority, Kubernetes: minor,
	}
	if len(is.CertificateAuthority) == 0 {
		is.CertificateAuthority = was.CertificateAuthority
	}
	if len(j.bundle) > 0 {
		is.CertificateAuthority = j.bundle
	}
	j.mu.Lock()
	j.latest = is
	j.mu.Unlock()
	if newer := install.NewerKubernetes(is.Kubernetes); newer != "" && was.Kubernetes != is.Kubernetes {
		j.logger.Warn(newer)
	}
	if was.Name == "" {
		return nil
	}
	if was.Kubernetes != is.Kubernetes {
		j.logger.Info("the control plane has another version: new nodes get images for it, and nodes of classes that name images by alias drift", "from", was.Kubernetes, "to", is.Kubernetes)
	}
	if was.Endpoint != is.Endpoint || !bytes.Equal(was.CertificateAuthority, is.CertificateAuthority) || was.ServiceCIDR != is.ServiceCIDR {
		j.logger.Info("the cluster has another endpoint, certificate authority or service CIDR; new nodes get them", "endpoint", is.Endpoint, "service_cidr", is.ServiceCIDR)
	}
	return nil
}

// eksWithin bounds a call to EKS: a daemon that can start without does not wait for what cannot
// be reached.
const eksWithin = 20 * time.Second

func (j *joined) ask(ctx context.Context) (aws.Cluster, error) {
	if j.endpoint != "" || j.kept != nil {
		bounded, cancel := context.WithTimeout(ctx, eksWithin)
		defer cancel()
		ctx = bounded
	}
	return j.eks.Cluster(ctx, j.name)
}

// lastKnown returns what EKS said last, for a daemon that starts while EKS does not answer. What
// EKS refuses, or does not know, is an answer.
func (j *joined) lastKnown(ctx context.Context, fault error) (aws.Cluster, bool) {
	answered := errors.Is(fault, aws.ErrUnauthorized) || errors.Is(fault, aws.ErrNotFound) || errors.Is(fault, aws.ErrCredentials)
	if fault == nil || answered || j.now().Name != "" || j.kept == nil {
		return aws.Cluster{}, false
	}
	last, err := j.kept.Cluster(ctx, j.name)
	if err != nil {
		j.logger.Debug("what EKS said last is not kept", "error", err)
	}
	return last, err == nil
}

// keep keeps what EKS says, when it is news to this process.
func (j *joined) keep(ctx context.Context, said aws.Cluster) {
	if j.kept == nil || reflect.DeepEqual(said, j.said) {
		return
	}
	if err := j.kept.KeepCluster(ctx, said); err != nil {
		j.logger.Warn("what EKS says of the cluster could not be kept for the next start; it is tried again", "error", err)
		return
	}
	j.said = said
}

// look brings the cluster up to date. After an error it stays as it was last seen. Another
// version counts when two looks have seen it: while a control plane is upgraded, its old
// and new API servers answer in turn.
func (j *joined) look(ctx context.Context, _ time.Time) error {
	counts := j.now().Kubernetes
	minor, err := minorVersion(j.versions)
	if err == nil {
		if counts == "" || minor == j.seen {
			counts = minor
		}
		j.seen = minor
	}
	return errors.Join(err, j.read(ctx, counts))
}

// lookAndTell returns look, which then tells once of each version that is newer than the daemon.
func (j *joined) lookAndTell(tell func(ctx context.Context, newer string)) func(context.Context, time.Time) error {
	told := ""
	return func(ctx context.Context, now time.Time) error {
		err := j.look(ctx, now)
		newer := install.NewerKubernetes(j.now().Kubernetes)
		if newer != "" && newer != told {
			tell(ctx, newer)
		}
		told = newer
		return err
	}
}

// minorVersion asks the API server for its version, and checks that the daemon works with it.
func minorVersion(versions discovery.ServerVersionInterface) (string, error) {
	v, err := versions.ServerVersion()
	if err != nil {
		return "", fmt.Errorf("kubernetes api reach: %w", err)
	}
	if err := install.CheckKubernetesVersion(v.GitVersion); err != nil {
		return "", err
	}
	return v.Major + "." + strings.TrimRight(v.Minor, "+"), nil
}
