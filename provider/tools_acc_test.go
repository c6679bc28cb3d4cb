//go:build lab && whole

package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

// What users do with the tools beside plan, apply and destroy of one configuration: each runs
// the tool itself.

// TestAccBehind_TheToolsSeeWhatTheWalkSees lets somebody make one drawn change of one drawn
// resource in AWS.
func TestAccBehind_TheToolsSeeWhatTheWalkSees(t *testing.T) {
	kinds := awsTrials()
	for _, begin := range share.Of(t.Name(), len(kinds), kinds) {
		for _, cli := range clis(t) {
			s := begin(t)
			t.Run(s.kind+"/"+cli.name, func(t *testing.T) {
				cli.use(t)
				w := s.cloud.world(t)
				b := behind{kind: s.kind, world: w, exceptions: exceptionsInAWS(), used: map[int]bool{}}
				before, config := w.raw(), s.cloud.hcl("%s", s.block(t, s.base))
				run(t, func() error { return nil }, resource.TestStep{Config: config}, resource.TestStep{
					PreConfig:        meddle(t, func() error { return b.meddleOnce(t, before) }),
					Config:           config,
					ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectNonEmptyPlan()}},
				})
			})
		}
	}
}

// meddleOnce makes a change that an apply mends: the one that is drawn, or the first after it that
// somebody can make.
func (b *behind) meddleOnce(t *testing.T, before map[string]wire.Thing) error {
	t.Helper()
	all := slices.Concat(b.all(t, before)...)
	all = slices.DeleteFunc(all, func(m meddling) bool {
		return b.exception(m) != nil || len(m.contents) > 0 && b.world.declared != nil && !b.world.declared(m.key, m.path)
	})
	drawn := share.Of(t.Name(), len(all), numbers(len(all)))[0]
	for _, letter := range t.Name() { // a run of all cases does not always draw the first
		drawn = (drawn + int(letter)) % len(all)
	}
	for _, m := range slices.Concat(all[drawn:], all[:drawn]) {
		if made, err := b.meddle(m); made {
			t.Log(m.name())
			return err
		}
	}
	return errors.New("nobody can make any change")
}

func numbers(n int) (out []int) {
	for i := range n {
		out = append(out, i)
	}
	return out
}

// declaredWorkspace is a workspace whose configuration is JSON.
type declaredWorkspace struct {
	workspace
	t *testing.T
}

// newDeclared is an empty workspace.
func (c cli) newDeclared(t *testing.T) declaredWorkspace {
	t.Helper()
	build := providerserver.NewProtocol6WithError(provider.NewHasty("1.2.3", releaseDigest)())
	return declaredWorkspace{workspace{c, t.TempDir(), map[string]func() (tfprotov6.ProviderServer, error){"karpenter": build}}, t}
}

// declare writes the configuration. providers is the provider's block, or a list of them.
func (w declaredWorkspace) declare(providers any, more object) {
	w.t.Helper()
	config := object{
		"terraform": object{"required_providers": object{"karpenter": object{"source": w.host + "/karpenterd/karpenter"}}},
		"provider":  object{"karpenter": providers},
	}
	for name, value := range more {
		config[name] = value
	}
	text, err := json.MarshalIndent(config, "", "  ")
	must(w.t, err)
	must(w.t, os.WriteFile(filepath.Join(w.dir, "main.tf.json"), text, 0o600))
}

func pools(of object) object { return object{"resource": object{"karpenter_node_pool": of}} }

func (w declaredWorkspace) apply(args ...string) string {
	w.t.Helper()
	return string(w.must(w.t, append([]string{"apply", "-auto-approve"}, args...)...))
}

// settled fails unless there is nothing to do.
func (w declaredWorkspace) settled(args ...string) {
	w.t.Helper()
	if printed, code, err := w.run(w.t, []int{0, 2}, append([]string{"plan", "-detailed-exitcode"}, args...)...); err != nil || code != 0 {
		w.t.Errorf("the plan is not empty: %v\n%s", err, printed)
	}
}

// refused runs a command that has to fail, and says so with all the parts.
func (w declaredWorkspace) refused(parts []string, args ...string) {
	w.t.Helper()
	printed, _, err := w.run(w.t, []int{1}, args...)
	must(w.t, err)
	text := strings.Join(strings.Fields(strings.ReplaceAll(string(printed), "│", " ")), " ")
	for _, part := range parts {
		if !strings.Contains(text, part) {
			w.t.Errorf("%v: the error lacks %q: %s", args, part, text)
		}
	}
}

// changes are what a plan does, as action and address.
func (w declaredWorkspace) changes(args ...string) (all []string) {
	w.t.Helper()
	w.must(w.t, append([]string{"plan", "-out=planned"}, args...)...)
	var plan struct {
		Changes []struct {
			Address string
			Change  struct{ Actions []string }
		} `json:"resource_changes"`
	}
	must(w.t, json.Unmarshal(w.must(w.t, "show", "-json", "planned"), &plan))
	for _, change := range plan.Changes {
		if does := strings.Join(change.Change.Actions, "+"); does != "no-op" {
			all = append(all, does+" "+change.Address)
		}
	}
	return all
}

func wantEqual(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// withTools plays in a cluster that is an API server alone, with definitions of somebody else.
func withTools(t *testing.T, c *swept, play func(t *testing.T, c *swept, cli cli, access object)) {
	t.Helper()
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			withoutAWS(t)
			cli.use(t)
			play(t, c, cli, c.set(t).config)
		})
	}
}

func namedPool(name string, more object) object {
	return with(poolConfig(object{"name": name, "wait": false}), more)
}

func TestAccTools_PoolsAndClasses(t *testing.T) {
	c := startSwept(t)
	type trial struct {
		name string
		play func(t *testing.T, c *swept, cli cli, access object)
	}
	all := []trial{
		{"two states", twoStates},
		{"fifty pools", fiftyPools},
		{"target and replace", targetAndReplace},
		{"no refresh", noRefresh},
		{"no cluster", noCluster},
		{"create before destroy", createBeforeDestroy},
		{"two clusters", twoClusters},
	}
	for _, trial := range share.Of(t.Name(), 2, all) {
		t.Run(trial.name, func(t *testing.T) { withTools(t, c, trial.play) })
	}
}

// Two states on one pool: the second apply says what is there, and nothing is lost.
func twoStates(t *testing.T, _ *swept, cli cli, access object) {
	t.Helper()
	one, two := cli.newDeclared(t), cli.newDeclared(t)
	one.declare(access, pools(object{"this": namedPool("spot", nil)}))
	one.apply()
	two.declare(access, pools(object{"this": namedPool("spot", object{"weight": 7})}))
	two.refused([]string{`NodePool "spot" already exists`, "import"}, "apply", "-auto-approve")
	wantEqual(t, "the second state", string(two.must(t, "state", "list")), "")
	one.settled()
	two.declare(access, pools(object{"this": namedPool("spot", nil)}))
	if said := strings.Join(strings.Fields(strings.ReplaceAll(two.apply(), "│", " ")), " "); !strings.Contains(said, `NodePool "spot"`) || !strings.Contains(said, "another configuration") {
		t.Errorf("nothing says that another configuration may have the pool: %s", said)
	}
	one.settled()
	two.settled()
	two.must(t, "state", "rm", "karpenter_node_pool.this")
	one.settled()
	one.must(t, "destroy", "-auto-approve")
}

// Fifty pools: a change of one is no change of the others.
func fiftyPools(t *testing.T, _ *swept, cli cli, access object) {
	t.Helper()
	w := cli.newDeclared(t)
	declare := func(n, weightOfSeven int) {
		w.declare(access, pools(object{"this": with(namedPool("p-${each.key}", nil), object{
			"for_each": fmt.Sprintf("${toset([for i in range(%d) : tostring(i)])}", n), "weight": fmt.Sprintf(`${each.key == "7" ? %d : 1}`, weightOfSeven),
		})}))
	}
	declare(50, 2)
	begun := time.Now()
	w.apply()
	t.Logf("the apply of 50 pools took %v", time.Since(begun).Round(time.Millisecond))
	begun = time.Now()
	w.settled()
	t.Logf("the plan of 50 pools took %v", time.Since(begun).Round(time.Millisecond))
	declare(50, 3)
	wantEqual(t, "a change of one", w.changes(), []string{`update karpenter_node_pool.this["7"]`})
	w.must(t, "apply", "planned")
	declare(49, 3)
	wantEqual(t, "one less", w.changes(), []string{`delete karpenter_node_pool.this["49"]`})
	w.must(t, "apply", "planned")
	w.settled()
	begun = time.Now()
	w.must(t, "destroy", "-auto-approve")
	t.Logf("the destroy of 49 pools took %v", time.Since(begun).Round(time.Millisecond))
}

// classesAndPools has a class and two pools of it.
func classesAndPools(class, a, b object) object {
	return object{"resource": object{
		"karpenter_node_class": object{"this": class},
		"karpenter_node_pool":  object{"a": with(a, object{"node_class": "${karpenter_node_class.this.name}"}), "b": with(b, object{"node_class": "${karpenter_node_class.this.name}"})},
	}}
}

func targetAndReplace(t *testing.T, _ *swept, cli cli, access object) {
	t.Helper()
	w := cli.newDeclared(t)
	w.declare(access, classesAndPools(ownClass(nil), namedPool("a", nil), namedPool("b", nil)))
	w.apply("-target=karpenter_node_pool.a")
	wantEqual(t, "after the target", w.changes(), []string{"create karpenter_node_pool.b"})
	w.apply()
	w.declare(access, classesAndPools(ownClass(nil), namedPool("a", object{"weight": 7}), namedPool("b", object{"weight": 7})))
	wantEqual(t, "a target", w.changes("-target=karpenter_node_pool.b"), []string{"update karpenter_node_pool.b"})
	w.apply()
	wantEqual(t, "a replacement", w.changes("-replace=karpenter_node_pool.a"), []string{"delete+create karpenter_node_pool.a"})
	w.must(t, "apply", "planned")
	w.settled()
	w.refused([]string{`EC2NodeClass "ours" was not deleted`, "NodePool", "create_before_destroy"}, "apply", "-auto-approve", "-replace=karpenter_node_class.this")
	w.settled()
	w.must(t, "destroy", "-auto-approve")
}

// A plan without a refresh sees no change behind the back, and an apply without one mends it.
func noRefresh(t *testing.T, c *swept, cli cli, access object) {
	t.Helper()
	w := cli.newDeclared(t)
	w.declare(access, pools(object{"this": namedPool("spot", nil)}))
	w.apply()
	must(t, c.patch(nodePools, "", "spot", `{"spec":{"weight":9,"limits":{"cpu":"9"}}}`))
	w.settled("-refresh=false")
	w.declare(access, pools(object{"this": namedPool("spot", object{"weight": 7})}))
	w.apply("-refresh=false")
	w.settled()
	must(t, c.remove(nodePools, "", "spot"))
	w.settled("-refresh=false")
	w.declare(access, pools(object{"this": namedPool("spot", object{"weight": 8})}))
	w.refused([]string{`NodePool "spot"`, "not found"}, "apply", "-auto-approve", "-refresh=false")
	w.apply()
	w.settled()
	w.must(t, "destroy", "-auto-approve", "-refresh=false")
}

// A cluster that cannot be reached is an error of the plan, and changes nothing.
func noCluster(t *testing.T, _ *swept, cli cli, access object) {
	t.Helper()
	w := cli.newDeclared(t)
	config := pools(object{"this": namedPool("spot", nil)})
	w.declare(access, config)
	w.apply()
	before, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	must(t, err)
	w.declare(with(access, object{"kubernetes": object{"host": "http://127.0.0.1:1", "token": "t"}}), config)
	for _, command := range [][]string{{"plan"}, {"apply", "-auto-approve"}, {"destroy", "-auto-approve"}, {"destroy", "-auto-approve", "-refresh=false"}} {
		w.refused([]string{`karpenter_node_pool "spot"`, "127.0.0.1:1", "can be reached"}, command...)
	}
	w.settled("-refresh=false")
	after, err := os.ReadFile(filepath.Join(w.dir, "terraform.tfstate"))
	must(t, err)
	wantEqual(t, "the state", resourcesOf(t, after), resourcesOf(t, before))
	w.declare(access, config)
	w.settled()
	w.must(t, "destroy", "-auto-approve")
}

// resourcesOf is the state without its serial number.
func resourcesOf(t *testing.T, state []byte) string {
	t.Helper()
	var of struct{ Resources any }
	must(t, json.Unmarshal(state, &of))
	return wire.Text(of.Resources)
}

// A name is there once: what is replaced by its equal stays as it is, and no destroy of the old
// one deletes it.
func createBeforeDestroy(t *testing.T, c *swept, cli cli, access object) {
	t.Helper()
	w, first := cli.newDeclared(t), object{"lifecycle": object{"create_before_destroy": true}}
	w.declare(access, classesAndPools(ownClass(first), namedPool("a", first), namedPool("b", first)))
	w.apply()
	for address, gvr := range map[string]schema.GroupVersionResource{"karpenter_node_pool.a": nodePools, "karpenter_node_class.this": nodeClasses} {
		name := map[bool]string{true: "a", false: "ours"}[gvr == nodePools]
		before := c.get(gvr, "", name).GetUID()
		if said := w.apply("-replace=" + address); !strings.Contains(said, "Nothing was replaced") {
			t.Errorf("nothing says that %s is as it was: %s", address, said)
		}
		if c.gone(gvr, "", name) || c.get(gvr, "", name).GetUID() != before {
			t.Errorf("%s is not what it was", address)
		}
		w.settled()
	}
	w.declare(access, classesAndPools(ownClass(with(first, object{"name": "ours-2"})), namedPool("a", first), namedPool("b", first)))
	changes := w.changes()
	if !slices.Contains(changes, "create+delete karpenter_node_class.this") || !slices.Contains(changes, "update karpenter_node_pool.a") {
		t.Errorf("another name of the class: %v", changes)
	}
	w.must(t, "apply", "planned")
	w.settled()
	w.must(t, "destroy", "-auto-approve")
}

// Two clusters by aliases: each pool is in its own, also where the names are alike.
func twoClusters(t *testing.T, _ *swept, cli cli, access object) {
	t.Helper()
	other := startObjects(t)
	second := with(access, object{"alias": "second", "kubernetes": object{"host": other.URL, "token": "t"}})
	declare := func(w declaredWorkspace, weight int) {
		w.declare(list{access, second}, pools(object{
			"first":  namedPool("spot", nil),
			"second": namedPool("spot", object{"weight": weight, "provider": "karpenter.second"}),
		}))
	}
	w, program := cli.newDeclared(t), build(t, releaseDigest)
	w.providers = nil // a provider in the test's process would be one for both
	rc := filepath.Join(t.TempDir(), "rc")
	must(t, os.WriteFile(rc, fmt.Appendf(nil, "provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n}\n", cli.host+"/karpenterd/karpenter", program), 0o600))
	t.Setenv("TF_CLI_CONFIG_FILE", rc)
	declare(w, 1)
	w.apply()
	w.settled()
	declare(w, 7)
	wantEqual(t, "a change of the second", w.changes(), []string{"update karpenter_node_pool.second"})
	w.must(t, "apply", "planned")
	if weight := field(other.look(poolObjectPath), "spec", "weight"); fmt.Sprint(weight) != "7" {
		t.Errorf("the second cluster has weight %v", weight)
	}
	w.settled()
	w.must(t, "destroy", "-auto-approve")
	if other.look(poolObjectPath) != nil {
		t.Error("the pool of the second cluster is left")
	}
}

// TestAccTools_ReplaceOfWhatIsInAWS asks for a replacement of a drawn resource.
func TestAccTools_ReplaceOfWhatIsInAWS(t *testing.T) {
	kinds := awsTrials()
	for _, begin := range share.Of(t.Name(), 3, kinds) {
		s := begin(t)
		for _, cli := range clis(t) {
			t.Run(s.kind+"/"+cli.name, func(t *testing.T) {
				cli.use(t)
				w := cli.newDeclared(t)
				w.declare(s.cloud.config(), object{"resource": object{s.kind: object{"this": s.base}}})
				w.apply()
				w.apply("-replace=" + s.kind + ".this")
				w.settled()
				w.must(t, "destroy", "-auto-approve")
			})
		}
	}
}

// TestAccTools_AnImportOfEverythingGeneratesAConfigurationWithAnEmptyPlan imports what another
// configuration has made: every kind of resource.
func TestAccTools_AnImportOfEverythingGeneratesAConfigurationWithAnEmptyPlan(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			must(t, l.endSpotRole(t.Context()))
			made, imported := cli.newDeclared(t), cli.newDeclared(t)
			made.declare(list{}, nil)
			hcl := l.infrastructure() + fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "") + fmt.Sprintf(poolBlock, "") +
				"resource \"karpenter_spot_service_linked_role\" \"this\" {\n  delete_on_destroy = true\n}\n"
			must(t, os.WriteFile(filepath.Join(made.dir, "all.tf"), []byte(hcl), 0o600))
			made.apply()
			ids := map[string]string{
				"karpenter_node_role": "lab,KarpenterNodeRole-lab", "karpenter_instance_profile": "nodes", "karpenter_interruption_queue": "lab,lab",
				"karpenter_controller_role": "lab,KarpenterControllerRole-lab", "karpenter_discovery_tags": "lab", "karpenter_daemon": "karpenter",
				"karpenter_node_class": "default", "karpenter_node_pool": "default", "karpenter_spot_service_linked_role": "AWSServiceRoleForEC2Spot",
			}
			var blocks list
			for kind := range newHarness(t).schema.ResourceSchemas {
				if ids[kind] == "" {
					t.Errorf("%s has no id here to be imported by", kind)
				}
				blocks = append(blocks, object{"to": kind + ".this", "id": ids[kind]})
			}
			imported.declare(object{"region": l.Region, "eks": object{"cluster_name": l.ClusterName}}, object{"import": blocks})
			imported.must(t, "plan", "-generate-config-out=generated.tf")
			imported.apply()
			imported.settled()
			made.settled()
			made.must(t, "destroy", "-auto-approve")
		})
	}
}
