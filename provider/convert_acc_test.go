//go:build lab

package provider_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

// existing are objects as somebody has applied them.
const existing = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  limits: {cpu: 1000}
  disruption: {consolidateAfter: 1m, budgets: [{nodes: "1", schedule: "@daily", duration: 10m}]}
  template:
    spec:
      terminationGracePeriod: 1h
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}]
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-lab
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: lab}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: lab}}]
`

// TestAccConvert_ImportBlocksTakeOverWhatIsThere applies the configuration that existing objects are
// converted to: they are imported, the pool is not changed at all, and the class gets its daemon.
func TestAccConvert_ImportBlocksTakeOverWhatIsThere(t *testing.T) {
	openTofu(t).use(t)
	l := startLab(t)
	h := helm{l.somebody(t)}
	h.installs(t)
	const controllerRole = `resource "karpenter_controller_role" "this" {`
	base := strings.Replace(l.infrastructure(), controllerRole, controllerRole+"\n  namespace = \"kube-system\"\n  service_account = \"karpenterd\"", 1) +
		strings.NewReplacer("my-cluster", "lab").Replace(guideBlocks(t, "take_over")["start the daemon"])
	config, _ := legacy.Convert([]legacy.Source{{Text: existing}}, legacy.Options{}).HCL("karpenter_daemon.this.id")
	same := func() string {
		return string(h.get(nodePools, "", "default").GetUID() + h.get(nodeClasses, "", "default").GetUID())
	}
	var uids string
	resource.Test(t, resource.TestCase{
		IsUnitTest: true,
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"karpenter": providerserver.NewProtocol6WithError(provider.New("1.2.3", releaseDigest)()),
		},
		Steps: []resource.TestStep{
			{Config: base, Check: func(*terraform.State) error {
				pool, class, _ := strings.Cut(existing, "---\n")
				var objects [2]map[string]any
				err := errors.Join(yaml.Unmarshal([]byte(pool), &objects[0]), yaml.Unmarshal([]byte(class), &objects[1]))
				if err = errors.Join(err, h.create(nodeClasses, "", objects[1]), h.create(nodePools, "", objects[0])); err != nil {
					return err
				}
				uids = same()
				return eventually(t, func() error { // a pool that is not ready is waited for by an update
					if ready, why := kube.ConditionTrue("Ready")(h.get(nodePools, "", "default")); !ready {
						return errors.New(why)
					}
					return nil
				})
			}},
			{
				Config: base + config,
				ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
					plancheck.ExpectResourceAction("karpenter_node_pool.default", plancheck.ResourceActionNoop),
					plancheck.ExpectResourceAction("karpenter_node_class.default", plancheck.ResourceActionUpdate),
				}},
				Check: func(*terraform.State) error {
					if same() != uids {
						return errors.New("the pool or the class was replaced")
					}
					return nil
				},
			},
		},
	})
}
