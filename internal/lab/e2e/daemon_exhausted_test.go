//go:build lab

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

// TestDaemonExhausted runs the deployed daemon in an account that is at its limits. EC2 throttles
// as it documents.
func TestDaemonExhausted(t *testing.T) {
	d := startDaemonLab(t, lab.Options{})
	d.installDaemon(t)
	d.apply(t, d.nodeClass(nodeClassName, nil))
	d.Cloud.Throttle(true)
	d.part(t, "ManyNodesThatEnd_AreAskedAboutTogether", manyEndsAreAskedAboutTogether)
	d.part(t, "SpotRole_MissingLaunchesOnDemand", missingSpotRole)
	d.part(t, "Quota_UsedUpIsFoundOutByFewCalls", usedUpQuotaCostsFewCalls)
	if n := len(d.calls("", time.Time{}, "RequestLimitExceeded")); n > 0 {
		t.Errorf("EC2 throttled %d calls", n)
	}
}

// calls returns the calls of the action, all if it is empty, since the time, with the error code;
// empty is any answer.
func (d *daemonLab) calls(action string, since time.Time, code string) (out []awssim.Call) {
	for _, c := range d.Cloud.Calls() {
		if (action == "" || c.Action == action) && c.Time.After(since) && (code == "" || c.ErrorCode == code) {
			out = append(out, c)
		}
	}
	return out
}

// toldOfPool waits for an Event on the NodePool that has the text.
func (d *daemonLab) toldOfPool(t *testing.T, p pool, text string) {
	t.Helper()
	eventually(t, func() error {
		list, err := d.Core.CoreV1().Events("").List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=NodePool,involvedObject.name=" + p.name})
		if err != nil {
			return err
		}
		var said []string
		for _, e := range list.Items {
			if strings.Contains(e.Message, text) {
				return nil
			}
			said = append(said, e.Reason+": "+e.Message)
		}
		return fmt.Errorf("no Event says %q: %q", text, said)
	})
}

// manyEndsAreAskedAboutTogether ends twenty nodes at once: each asked about by itself every two
// seconds would be more than ten calls a second.
func manyEndsAreAskedAboutTogether(t *testing.T, d *daemonLab) {
	const nodes = 20
	p := pool{name: "many", requirements: map[string][]string{instanceType: {"c6a.large"}}, replicas: nodes}
	d.createPool(t, p)
	d.hasNodes(t, p, nodes)
	claims, err := d.claims(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	background := metav1.DeletePropagationForeground
	if err := d.NodePools.Delete(t.Context(), p.name, metav1.DeleteOptions{PropagationPolicy: &background}); err != nil {
		t.Fatal(err)
	}
	for _, c := range claims {
		d.gone(t, c)
	}
	took := time.Since(began)
	asked, ended := len(d.calls("DescribeInstances", began, "")), len(d.calls("TerminateInstances", began, ""))
	t.Logf("%d nodes ended in %s, with %d DescribeInstances and %d TerminateInstances", nodes, took.Round(time.Second), asked, ended)
	// Two calls a second for all of them, one for those that EC2 does not list any more, and the
	// sweeps for orphans and drift.
	if most := 4*int(took.Seconds()) + 10; asked > most || ended > nodes/2 {
		t.Errorf("%d DescribeInstances and %d TerminateInstances in %s, want at most %d and %d", asked, ended, took, most, nodes/2)
	}
}

func usedUpQuotaCostsFewCalls(t *testing.T, d *daemonLab) {
	p := pool{name: "quota", requirements: map[string][]string{"karpenter.k8s.aws/instance-category": {"c", "m", "r"}}}
	d.createPool(t, p)
	d.Cloud.EC2.SetQuota(v1.CapacityTypeOnDemand, "m5.large", 0)
	began := time.Now()
	d.deploy(t, p, 40)
	d.toldOfPool(t, p, "raise the vCPU quota of this instance family")
	time.Sleep(15 * time.Second) // in which the whole catalogue could be tried
	if failed := len(d.calls("CreateFleet", began, "")); failed == 0 || failed > 10 {
		t.Errorf("%d launch calls for a quota that is used up, want a few", failed)
	}
	d.Cloud.EC2.SetQuota(v1.CapacityTypeOnDemand, "m5.large", -1)
	d.scale(t, p, 0)
	d.empties(t, p)
	if left := d.instances(p); len(left) > 0 {
		t.Errorf("instances are left: %+v", left)
	}
}

// missingSpotRole has no service-linked role for spot, which the daemon may not create.
func missingSpotRole(t *testing.T, d *daemonLab) {
	p := pool{name: "spot-role", alsoSpot: true, requirements: map[string][]string{"karpenter.k8s.aws/instance-category": {"c", "m", "r"}}}
	d.Cloud.EC2.RequireSpotRole(true)
	d.createPool(t, p)
	began := time.Now()
	d.deploy(t, p, 3)
	d.running(t, p, 3)
	d.toldOfPool(t, p, "create the role with karpenter_spot_service_linked_role")
	for _, i := range d.instances(p) {
		if i.Spot {
			t.Errorf("instance %s is spot", i.ID)
		}
	}
	n := 0 // but those that only wait until EC2 knows the launch template
	for _, c := range d.calls("CreateFleet", began, "") {
		if !strings.Contains(c.ErrorCode, ".NotFound") {
			n++
		}
	}
	if launched := len(d.instances(p)); n > launched+4 { // as many as are tried at once before one answers
		t.Errorf("%d launch calls for %d instances", n, launched)
	}
	service := "spot.amazonaws.com"
	if _, err := iam.NewFromConfig(d.deployer()).CreateServiceLinkedRole(t.Context(), &iam.CreateServiceLinkedRoleInput{AWSServiceName: &service}); err != nil {
		t.Fatal(err)
	}
	d.scale(t, p, 0)
	d.empties(t, p)
}
