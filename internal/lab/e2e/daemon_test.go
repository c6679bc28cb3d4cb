//go:build lab

package e2e

import (
	"os"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

// TestDaemon runs the deployed daemon in one laboratory. Its parts have pools,
// Deployments and instance types of their own.
func TestDaemon(t *testing.T) {
	d := startDaemonLab(t, lab.Options{Progress: os.Stderr})
	d.installDaemon(t)
	d.apply(t, d.nodeClass(nodeClassName, nil))
	t.Run("PodsRunOnNodesThatItLaunchesAndGoWhenEmpty", func(t *testing.T) { podsRunOnNodesThatItLaunches(t, d) })
}

func podsRunOnNodesThatItLaunches(t *testing.T, d *daemonLab) {
	p := pool{name: "first"}
	d.createPool(t, p)
	d.deploy(t, p, 5)
	for _, pod := range d.running(t, p, 5) {
		t.Log(pod.Name, "runs on", pod.Spec.NodeName)
	}
	d.scale(t, p, 0)
	d.empty(t, p)
}
