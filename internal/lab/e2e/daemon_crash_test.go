//go:build lab

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

// replica is a running replica of the daemon.
type replica struct {
	pod     string
	pid     int
	address string // on which its process listens
}

// leader finds the process of the replica that holds the lease.
func (d *daemonLab) leader(t *testing.T) replica {
	t.Helper()
	var found replica
	eventually(t, func() error {
		lease, err := d.Core.CoordinationV1().Leases(install.DefaultNamespace).Get(t.Context(), install.LeaseName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" {
			return fmt.Errorf("nobody leads")
		}
		found, err = processOf(*lease.Spec.HolderIdentity)
		return err
	})
	return found
}

// processOf finds the process that runs as the pod, by its environment.
func processOf(pod string) (replica, error) {
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return replica{}, err
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		raw, err := os.ReadFile(path)
		if err != nil || !isChild(filepath.Join(dir, "stat")) {
			continue
		}
		env := strings.ReplaceAll(string(raw), "\x00", "\n")
		if valueOf(env, install.EnvPodName) != pod {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		return replica{pod: pod, pid: pid, address: valueOf(env, install.EnvBindAddress)}, err
	}
	return replica{}, fmt.Errorf("no process runs as pod %s", pod)
}

// dropped waits for a CreateFleet call after the time whose answer was withheld.
func (d *daemonLab) dropped(t *testing.T, since time.Time) {
	t.Helper()
	eventually(t, func() error {
		for _, c := range d.Cloud.Calls() {
			if c.Action == "CreateFleet" && c.Dropped && c.Time.After(since) {
				return nil
			}
		}
		return fmt.Errorf("no CreateFleet call lost its answer")
	})
}

func lostAnswerGivesOneInstance(t *testing.T, d *daemonLab) {
	p := pool{name: "lost"}
	d.createPool(t, p)
	began := time.Now()
	d.Cloud.Faults().Inject(awssim.Fault{Service: "ec2", Action: "CreateFleet", DropResponse: true, Times: 2})
	d.deploy(t, p, 1)
	d.running(t, p, 1)
	d.dropped(t, began)
	d.oneInstanceEach(t, p)
	d.scale(t, p, 0)
	d.empties(t, p)
}

// killBeforeTheAnswer ends the leader without notice while EC2 has launched and
// it cannot know. EC2's listings are late by the delay given.
func killBeforeTheAnswer(t *testing.T, d *daemonLab, name string, late time.Duration) {
	p := pool{name: name}
	d.createPool(t, p)
	began := time.Now()
	d.Cloud.EC2.SetVisibilityDelay(late)
	defer d.Cloud.EC2.SetVisibilityDelay(0)
	d.Cloud.Faults().Inject(awssim.Fault{Service: "ec2", Action: "CreateFleet", DropResponse: true})
	d.deploy(t, p, 1)
	d.dropped(t, began)
	victim := d.leader(t)
	if err := syscall.Kill(victim.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d.Cloud.Faults().Clear()
	d.running(t, p, 1)
	d.oneInstanceEach(t, p)
	if now := d.leader(t); now.pid == victim.pid {
		t.Error("the process that was killed still leads: the test tested nothing")
	}
	d.scale(t, p, 0)
	d.empties(t, p)
}

// anotherReplicaTakesOver removes the leader's pod at once, so that it cannot
// give its lease back.
func anotherReplicaTakesOver(t *testing.T, d *daemonLab) {
	p := pool{name: "survivor"}
	d.createPool(t, p)
	d.deploy(t, p, 1)
	d.running(t, p, 1)
	before := d.leader(t)
	now := int64(0)
	if err := d.Core.CoreV1().Pods(install.DefaultNamespace).Delete(t.Context(), before.pod, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	d.scale(t, p, 4)
	d.running(t, p, 4)
	if after := d.leader(t); after.pod == before.pod {
		t.Errorf("pod %s still leads", after.pod)
	}
	d.oneInstanceEach(t, p)
	d.scale(t, p, 0)
	d.empties(t, p)
}
