//go:build lab && whole

package provider_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// TestAccTools_ReplaceWhileNodesRunCutsNobodyOff asks for a replacement of each resource while a node
// runs: it works, or is refused with the way that works, and the node keeps all that it needs.
func TestAccTools_ReplaceWhileNodesRunCutsNobodyOff(t *testing.T) {
	type replaced struct {
		address string
		refused []string // parts of the error; none: it works
	}
	const brief = "  timeouts = { delete = \"10s\" }\n"
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			l := startLab(t)
			w := cli.newDeclared(t)
			w.declare(list{}, nil)
			hcl := l.infrastructure()
			for _, kind := range []string{"karpenter_instance_profile", "karpenter_node_role", "karpenter_controller_role"} {
				head := fmt.Sprintf("resource %q \"this\" {\n", kind)
				hcl = strings.Replace(hcl, head, head+brief, 1)
			}
			hcl += fmt.Sprintf(daemonBlock, "") + fmt.Sprintf(classBlock, "") + fmt.Sprintf(poolBlock, "") +
				"resource \"karpenter_spot_service_linked_role\" \"this\" {}\n"
			must(t, os.WriteFile(filepath.Join(w.dir, "all.tf"), []byte(hcl), 0o600))
			w.apply()
			must(t, l.launch(t))
			watched := l.watchNodes(t)
			instances, err := l.aws.PoolInstances(t.Context(), l.ClusterName)
			must(t, err)
			for _, r := range []replaced{
				{"karpenter_spot_service_linked_role.this", nil},
				{"karpenter_discovery_tags.this", nil},
				{"karpenter_instance_profile.this", []string{"instances have the instance profile", "create_before_destroy"}},
				{"karpenter_node_role.this", []string{"nodes may still need the role", "create_before_destroy"}},
				{"karpenter_controller_role.this", []string{"the daemon still needs the role", "create_before_destroy"}},
				{"karpenter_daemon.this", []string{"still needed by", `NodePool "default"`}},
				{"karpenter_node_class.this", []string{`EC2NodeClass "default" was not deleted`, "create_before_destroy"}},
				{"karpenter_interruption_queue.this", nil},
			} {
				t.Run(r.address, func(t *testing.T) {
					w := w
					w.t = t
					if r.refused == nil {
						w.apply("-replace=" + r.address)
					} else {
						w.refused(r.refused, "apply", "-auto-approve", "-replace="+r.address)
					}
					w.settled()
					for _, i := range instances {
						if !l.instanceRuns(i.ID) {
							t.Errorf("instance %s has ended", i.ID)
						}
					}
				})
			}
			must(t, errors.Join(watched.end(), l.runs(), l.kubeDeleteWorkload()))
			w.must(t, "destroy", "-auto-approve")
			must(t, l.nothingRuns())
		})
	}
}

// TestAccBehind_TheToolsSeeWhatTheWalkSeesInACluster lets somebody make one drawn change of one object
// of each kind in a cluster.
func TestAccBehind_TheToolsSeeWhatTheWalkSeesInACluster(t *testing.T) {
	c := startSwept(t)
	kinds := []object{
		{"kind": "karpenter_node_class", "config": ownClass(nil)},
		{"kind": "karpenter_node_pool", "config": namedPool("spot", nil)},
		{"kind": "karpenter_daemon", "config": idle(nil)},
	}
	for _, of := range share.Of(t.Name(), len(kinds), kinds) {
		kind := of["kind"].(string)
		t.Run(kind, func(t *testing.T) {
			withTools(t, c, func(t *testing.T, c *swept, cli cli, access object) {
				t.Helper()
				w, world := cli.newDeclared(t), c.world(t)
				before := world.raw()
				w.declare(access, object{"resource": object{kind: object{"this": of["config"]}}})
				w.apply()
				target := world.look()
				b := behind{kind: kind, world: world, exceptions: exceptionsInCluster(), used: map[int]bool{}}
				must(t, b.meddleOnce(t, before))
				if _, code, err := w.run(t, []int{0, 2}, "plan", "-detailed-exitcode"); err != nil || code != 2 {
					t.Errorf("the plan does not show it: %v", err)
				}
				w.apply()
				w.settled()
				wantSame(t, target, world.look())
				w.must(t, "destroy", "-auto-approve")
			})
		})
	}
}

// TestAccTools_AnUpdateWithoutARefreshMendsTheQueue lets somebody change queue and rules. An apply without
// a refresh that changes a tag makes the whole as the configuration says.
func TestAccTools_AnUpdateWithoutARefreshMendsTheQueue(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			s := trialsOfQueue(t)
			w := cli.newDeclared(t)
			config := with(s.base, object{"kms_key_id": "alias/one", "additional_policy_statements": list{auditors}})
			declare := func(tag string) {
				w.declare(s.cloud.config(), object{"resource": object{s.kind: object{"this": with(config, object{"tags": object{"env": tag}})}}})
			}
			declare("a")
			w.apply()
			world := s.cloud.world(t)
			b := behind{kind: s.kind, world: world, exceptions: exceptionsInAWS(), used: map[int]bool{}}
			for n, m := range share.Of(t.Name(), 8, b.mendable(world.raw())) {
				made, err := b.meddle(m)
				if !made {
					continue
				}
				t.Log(m.name())
				must(t, err)
				w.settled("-refresh=false")
				tag := fmt.Sprint("b", n)
				declare(tag)
				if said, code, err := w.run(t, []int{0, 1}, "apply", "-auto-approve", "-refresh=false"); code != 0 || err != nil {
					if len(m.contents) > 0 || !strings.Contains(string(said), "not found") {
						t.Errorf("%s: %v: %s", m.name(), err, said)
					}
					w.apply()
				}
				w.settled()
				if t.Failed() {
					return
				}
			}
			w.must(t, "destroy", "-auto-approve")
		})
	}
}

// mendable are the changes of queue and rules that an apply mends.
func (b *behind) mendable(now map[string]wire.Thing) (out []meddling) {
	for _, key := range slices.Sorted(maps.Keys(now)) {
		if !strings.HasPrefix(key, "sqs ") && !strings.HasPrefix(key, "events ") || strings.HasSuffix(key, "/"+theirs) {
			continue
		}
		for _, m := range append(b.fields(key, now[key].Content), meddling{key: key, how: "deleted"}) {
			if b.exception(m) == nil {
				out = append(out, m)
			}
		}
	}
	return out
}
