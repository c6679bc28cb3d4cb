//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/config"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

// exampleCluster is the cluster of the examples. In the laboratory it is a second name of
// the cluster that is there.
const exampleCluster = "prod"

// exampleCase is a resource whose examples are run.
type exampleCase struct {
	kind  string
	finds func(*exampleRun) // makes what the examples name and do not declare; nil: they name nothing
	// unread are the attributes that no import knows, because only the configuration has them.
	unread []string
	// kept are the things in AWS that the destroy leaves, by the beginning of their keys.
	kept []string
}

// exampleCases are in the order in which a user needs the resources.
func exampleCases() []exampleCase {
	return []exampleCase{
		{kind: "karpenter_spot_service_linked_role", finds: (*exampleRun).endsSpotRole, kept: []string{"iam role/" + awsspec.SpotRoleName}},
		{kind: "karpenter_node_role", finds: func(r *exampleRun) { r.role("nodes") }},
		{kind: "karpenter_instance_profile"},
		{kind: "karpenter_interruption_queue"},
		{kind: "karpenter_controller_role", finds: func(r *exampleRun) { r.policy("boundary"); r.policy("audit") }},
		{kind: "karpenter_discovery_tags"},
		{kind: "karpenter_daemon", finds: (*exampleRun).account},
		{kind: "karpenter_node_class", finds: (*exampleRun).daemon, unread: []string{"daemon"}},
		{kind: "karpenter_node_pool", finds: (*exampleRun).class, kept: []string{"ec2 lt-"}}, // a launch template is its class's
	}
}

// TestAccExamples_EveryResourceExampleIsValidAloneAndApplies runs the text of each example
// with nothing but the provider's block before it: apply, empty second plan, import of the
// same objects by id and by identity, destroy.
func TestAccExamples_EveryResourceExampleIsValidAloneAndApplies(t *testing.T) {
	openTofu(t).use(t)
	r := newExampleRun(t)
	defer r.close()
	var ran []string
	for _, c := range exampleCases() {
		if c.finds != nil {
			c.finds(r)
		}
		for _, e := range examplesOf(t, c.kind) {
			t.Run(c.kind+"/"+e.name, func(t *testing.T) { r.try(t, c, e) })
		}
		ran = append(ran, c.kind)
	}
	slices.Sort(ran)
	if kinds := exampleKinds(t); !slices.Equal(kinds, ran) {
		t.Errorf("run: the examples of %v; there are those of %v", ran, kinds)
	}
}

// TestAccExamples_AreFormatted compares with what the tool's own formatter writes.
func TestAccExamples_AreFormatted(t *testing.T) {
	for _, cli := range clis(t) {
		cli.use(t)
		if out, err := exec.CommandContext(t.Context(), cli.path, "fmt", "-check", "-diff", "-recursive", "../examples").CombinedOutput(); err != nil {
			t.Errorf("%s fmt: %v\n%s", cli.name, err, out)
		}
	}
}

// exampleRun has what the examples find, and takes it away at the end.
type exampleRun struct {
	*theLab
	somebody
	h     *harness
	hcl   string            // the provider's block
	found map[string]string // in AWS
	undos []func() error
}

func newExampleRun(t *testing.T) *exampleRun {
	t.Helper()
	l := startLab(t)
	l.CreateCluster(exampleCluster)
	token, _, err := l.aws.EKSTokenSource(l.ClusterName).Token(t.Context())
	must(t, err)
	access := object{"host": l.Endpoint, "cluster_ca_certificate": string(l.CA), "token": token}
	r := &exampleRun{
		theLab: l, somebody: l.somebody(t),
		h: configured(t, object{"region": l.Region, "kubernetes": access}),
		hcl: source + fmt.Sprintf("provider \"karpenter\" {\n  region = %q\n  kubernetes = { host = %q, cluster_ca_certificate = %q, token = %q }\n}\n",
			l.Region, l.Endpoint, l.CA, token),
	}
	r.found = r.inAWS()
	return r
}

// close takes away what the examples found, in reverse. Then nothing is left.
func (r *exampleRun) close() {
	for _, undo := range slices.Backward(r.undos) {
		if err := undo(); err != nil {
			r.h.t.Error(err)
		}
	}
	if err := same("AWS", r.found, r.inAWS()); err != nil {
		r.h.t.Error(err)
	}
}

// have makes a resource without any tool, for the examples to find, and returns it.
func (r *exampleRun) have(kind string, config object) *instance {
	r.h.t.Helper()
	i := r.h.resource(kind)
	r.undos = append(r.undos, func() error { wantNoError(r.h.t, i.destroy()); return nil })
	wantNoError(r.h.t, i.apply(config))
	return i
}

// endsSpotRole deletes at the end what the example leaves to the account.
func (r *exampleRun) endsSpotRole() {
	r.undos = append(r.undos, func() error { return r.endSpotRole(r.h.t.Context()) })
}

// endSpotRole deletes the role that a destroy leaves to the account.
func (l *theLab) endSpotRole(ctx context.Context) error {
	made, err := l.aws.GetServiceLinkedRole(ctx, awsspec.SpotService, awsspec.SpotRoleName)
	if errors.Is(err, aws.ErrNotFound) { // what would have made it has failed
		return nil
	}
	return errors.Join(err, l.aws.DeleteServiceLinkedRole(ctx, awsspec.SpotService, awsspec.SpotRoleName, made.ID))
}

// role makes a role for instances, as a user who has no resource for it.
func (r *exampleRun) role(name string) {
	r.h.t.Helper()
	made, err := r.aws.CreateRole(r.h.t.Context(), aws.Role{Name: name, TrustPolicy: awsspec.NodeTrust("aws")})
	must(r.h.t, err)
	r.undos = append(r.undos, func() error { return r.aws.DeleteRole(r.h.t.Context(), name, made.ID) })
}

// policy makes a policy that allows everything.
func (r *exampleRun) policy(name string) {
	r.h.t.Helper()
	made, err := r.aws.CreatePolicy(r.h.t.Context(), aws.Policy{Name: name, Document: `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`})
	must(r.h.t, err)
	r.undos = append(r.undos, func() error { return r.aws.DeletePolicy(r.h.t.Context(), made.ARN, made.ID) })
}

// account makes what the example of the daemon names: its role, its queue and its nodes. The
// class needs the rest of it.
func (r *exampleRun) account() {
	r.h.t.Helper()
	nodes := r.have("karpenter_node_role", object{"cluster_name": r.ClusterName, "name": "KarpenterNodeRole-" + exampleCluster})
	r.have("karpenter_instance_profile", object{"name": "KarpenterNodes-" + exampleCluster, "role": nodes.text("name")})
	queue := r.have("karpenter_interruption_queue", object{"cluster_name": r.ClusterName, "name": exampleCluster})
	for _, cluster := range []string{exampleCluster, r.ClusterName} {
		r.have("karpenter_controller_role", object{"cluster_name": cluster, "node_role_arn": nodes.text("arn"), "queue_arn": queue.text("arn")})
	}
	var subnets list
	for _, id := range r.VPC.SubnetIDs {
		subnets = append(subnets, id)
	}
	r.have("karpenter_discovery_tags", object{"cluster_name": exampleCluster, "subnet_ids": subnets, "security_group_ids": list{r.VPC.ClusterSecurityGroupID}})
	for _, node := range []string{"bootstrap-1", "bootstrap-2"} { // the laboratory's node group
		must(r.h.t, r.nodeGroup(node, "system"))
		r.undos = append(r.undos, func() error { return r.nodeGroup(node, "bootstrap") })
	}
}

// daemon runs the daemon that the examples of a class and a pool need.
func (r *exampleRun) daemon() {
	r.h.t.Helper()
	r.have("karpenter_daemon", object{
		"cluster_name": r.ClusterName, "role_arn": "arn:aws:iam::" + lab.Account + ":role/KarpenterControllerRole-" + r.ClusterName, "queue_name": exampleCluster,
	})
}

// class makes the class that the examples of a pool name.
func (r *exampleRun) class() {
	r.h.t.Helper()
	discovered := list{object{"tags": object{awsspec.TagDiscovery: exampleCluster}}}
	r.have("karpenter_node_class", object{
		"name": "default", "instance_profile": "KarpenterNodes-" + exampleCluster, "ami_selector_terms": list{object{"alias": "al2023@latest"}},
		"subnet_selector_terms": discovered, "security_group_selector_terms": discovered,
	})
}

// nodeGroup puts a node into a node group.
func (r *exampleRun) nodeGroup(node, name string) error {
	return r.patch(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "", node, fmt.Sprintf(`{"metadata":{"labels":{"eks.amazonaws.com/nodegroup":%q}}}`, name))
}

// try runs one example.
func (r *exampleRun) try(t *testing.T, c exampleCase, e example) {
	t.Helper()
	var subnets []config.Variable
	for _, id := range r.VPC.SubnetIDs {
		subnets = append(subnets, config.StringVariable(id))
	}
	variables := config.Variables{
		"subnet_ids": config.SetVariable(subnets...), "security_group_ids": config.SetVariable(config.StringVariable(r.VPC.ClusterSecurityGroupID)),
	}
	steps := []resource.TestStep{{Config: r.hcl + e.text, ConfigVariables: variables}}
	for _, i := range e.imports {
		kind := resource.ImportBlockWithID
		if i.file == importByIdentity {
			kind = resource.ImportBlockWithResourceIdentity
		}
		steps = append(steps, resource.TestStep{
			ResourceName: i.to, ImportState: true, ImportStateKind: kind, ImportStateConfigExact: true, ImportStateId: "of the configuration",
			Config: r.hcl + e.text + "\n" + i.text, ConfigVariables: variables,
			ExpectNonEmptyPlan: len(c.unread) > 0, ImportPlanChecks: resource.ImportPlanChecks{PreApply: []plancheck.PlanCheck{importOf{i, c.unread}}},
		})
	}
	awsBefore, before := r.inAWS(), r.inCluster(t)
	run(t, func() error {
		awsAfter := r.inAWS()
		maps.DeleteFunc(awsAfter, func(key, _ string) bool {
			return slices.ContainsFunc(c.kept, func(kept string) bool { return strings.HasPrefix(key, kept) })
		})
		return errors.Join(same("AWS", awsBefore, awsAfter), r.nothingNew(t, before), r.nothingRuns())
	}, steps...)
}

// inAWS are the things in AWS that a destroy ends, with what they are made of. Instances and
// what comes with them are known to AWS for a while after their end.
func (r *exampleRun) inAWS() map[string]string {
	all := map[string]string{}
	for key, thing := range r.Cloud.Inventory() {
		ended := slices.ContainsFunc([]string{"i-", "vol-", "eni-", "fleet-"}, func(kind string) bool { return strings.HasPrefix(key, "ec2 "+kind) })
		if !ended {
			all[key] = thing.Identity + " " + thing.Content
		}
	}
	return all
}

// published are objects that controllers make by themselves in namespaces that every cluster
// has, some of them only now.
var published = regexp.MustCompile(`^(serviceaccounts|configmaps|endpoints|endpointslices) (kube-|default/)`)

// inCluster are the objects in the cluster.
func (r *exampleRun) inCluster(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc((&swept{theLab: r.theLab, somebody: r.somebody}).everything(t), published.MatchString)
}

// nothingNew fails if the destroy has left an object in the cluster. What other tests have made
// there may still be going.
func (r *exampleRun) nothingNew(t *testing.T, before []string) error {
	t.Helper()
	after := slices.DeleteFunc(r.inCluster(t), func(object string) bool { return slices.Contains(before, object) })
	if len(after) > 0 {
		return fmt.Errorf("the destroy has left in the cluster: %s", strings.Join(after, ", "))
	}
	return nil
}

// same fails unless a destroy has left what was there before the apply.
func same(where string, before, after map[string]string) error {
	if diff := cmp.Diff(before, after); diff != "" {
		return fmt.Errorf("%s is not as it was before: %s", where, diff)
	}
	return nil
}

// importOf fails unless the plan imports the object, and changes nothing but attributes that
// only the configuration has.
type importOf struct {
	importBlock
	unread []string
}

// CheckPlan looks at the changes of the plan.
func (i importOf) CheckPlan(_ context.Context, req plancheck.CheckPlanRequest, resp *plancheck.CheckPlanResponse) {
	for _, r := range req.Plan.ResourceChanges {
		before, _ := r.Change.Before.(map[string]any)
		after, _ := r.Change.After.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(after)) {
			if !reflect.DeepEqual(before[name], after[name]) && (r.Address != i.to || !slices.Contains(i.unread, name)) {
				resp.Error = errors.Join(resp.Error, fmt.Errorf("%s: after the import, %s would change from %v to %v", r.Address, name, before[name], after[name]))
			}
		}
		if !r.Change.Actions.NoOp() && !r.Change.Actions.Update() {
			resp.Error = errors.Join(resp.Error, fmt.Errorf("%s: the plan is to %v", r.Address, r.Change.Actions))
		}
		if r.Address == i.to && (r.Change.Importing == nil || r.Change.Importing.ID != i.id) {
			resp.Error = errors.Join(resp.Error, fmt.Errorf("%s: the plan imports %+v, want %q", r.Address, r.Change.Importing, i.id))
		}
	}
}
