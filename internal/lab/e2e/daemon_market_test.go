//go:build lab

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

// aNewLeaderKnowsThePrices ends the leader while AWS says nothing of what it sells: the next
// one works with the answers that the last one has kept, and not with its own table.
func aNewLeaderKnowsThePrices(t *testing.T, d *daemonLab) {
	d.knowsPrices(t)
	for action, service := range map[string]string{
		"DescribeInstanceTypes": "ec2", "DescribeInstanceTypeOfferings": "ec2", "DescribeSpotPriceHistory": "ec2", "GetProducts": "pricing",
	} {
		d.Cloud.Faults().Inject(awssim.Fault{Service: service, Action: action, Code: "AuthFailure", Message: "nobody answers"})
	}
	defer d.Cloud.Faults().Clear()
	victim := d.leader(t)
	if err := syscall.Kill(victim.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p := pool{name: "outage"}
	d.createPool(t, p)
	d.deploy(t, p, 1)
	d.running(t, p, 1)
	if now := d.leader(t); now.pid == victim.pid {
		t.Error("the process that was killed still leads: the test tested nothing")
	}
	d.knowsPrices(t)
	if said := strings.Count(d.logs(), "AWS does not say what it sells"); said == 0 {
		t.Error("AWS has answered the new leader: the test tested nothing")
	}
	d.scale(t, p, 0)
	d.empties(t, p)
}

// knowsPrices waits until AWS's answers are kept, and the leader works with answers of AWS.
func (d *daemonLab) knowsPrices(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		m, err := d.Core.CoreV1().ConfigMaps(install.DefaultNamespace).Get(t.Context(), install.CatalogueName, metav1.GetOptions{})
		if err != nil || len(m.BinaryData) == 0 {
			return fmt.Errorf("the ConfigMap has nothing: %w", err)
		}
		metrics := get(t, "http://"+d.leader(t).address+":8080/metrics")
		for _, group := range []string{"instance types", "offerings", "on-demand prices", "spot prices"} {
			if !strings.Contains(metrics, fmt.Sprintf("\nkarpenterd_catalogue_embedded{group=%q} 0\n", group)) {
				return fmt.Errorf("the metrics do not say that the %s are AWS's", group)
			}
		}
		class, err := d.EC2NodeClasses.Get(t.Context(), nodeClassName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if c := class.Conditions().Get(awsv1.ConditionCatalogueCurrent); !c.IsTrue() {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
}
