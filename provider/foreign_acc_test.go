//go:build lab

package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// foreign is something in the way of a resource: made by somebody else, under
// the name that the resource takes.
type foreign struct {
	config string
	says   string // part of the error
	// before makes the thing where nothing of the resource is there; anew takes the
	// resource's own one away and puts another there. nil: does not apply.
	before, anew func(*testing.T, *cloud) error
	// look gives the thing as it is, all of it.
	look func(*testing.T, *cloud) (any, error)
	// leftovers name what a creation that failed may not leave.
	leftovers func(*testing.T, *cloud) []string
}

const (
	theirNodeRole       = "KarpenterNodeRole-" + testCluster
	theirControllerRole = "KarpenterControllerRole-" + testCluster
	theirNodeRoleARN    = "arn:aws:iam::" + testAccount + ":role/" + theirNodeRole
	nodeRoleHCL         = `resource "karpenter_node_role" "this" {
  cluster_name = "` + testCluster + `"
}`
	controllerRoleHCL = `resource "karpenter_controller_role" "this" {
  cluster_name  = "` + testCluster + `"
  node_role_arn = "arn:aws:iam::` + testAccount + `:role/nodes"
}`
	profileHCL = `resource "karpenter_instance_profile" "this" {
  name = "nodes"
  role = "nodes"
}`
	queueHCL = `resource "karpenter_interruption_queue" "this" {
  cluster_name = "` + testCluster + `"
}`
)

// theirRole makes a role of the name with everything of somebody else's.
func theirRole(name string) func(*testing.T, *cloud) error {
	return func(t *testing.T, c *cloud) error {
		_, err := c.clients.CreateRole(t.Context(), aws.Role{
			Name: name, Description: "theirs", TrustPolicy: awsspec.IRSATrust(testIssuer, testAccount, "aws", "a", "b"),
			Tags: map[string]string{"owner": "somebody"}, ManagedPolicies: []string{"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"},
			InlinePolicies: map[string]string{"theirs": `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`},
		})
		return err
	}
}

func lookAtRole(name string) func(*testing.T, *cloud) (any, error) {
	return func(t *testing.T, c *cloud) (any, error) { return c.clients.GetRole(t.Context(), name) }
}

func lookAtEntry(t *testing.T, c *cloud) (any, error) {
	return c.clients.GetAccessEntry(t.Context(), testCluster, theirNodeRoleARN)
}

func theirEntry(t *testing.T, c *cloud) error {
	_, err := c.clients.CreateAccessEntry(t.Context(), aws.AccessEntry{
		Cluster: testCluster, PrincipalARN: theirNodeRoleARN, Type: "EC2_WINDOWS", Tags: map[string]string{"owner": "somebody"},
	})
	return err
}

func nodesRole(t *testing.T, c *cloud) error {
	_, err := c.clients.CreateRole(t.Context(), aws.Role{Name: "nodes", TrustPolicy: awsspec.NodeTrust("aws")})
	if errors.Is(err, aws.ErrConflict) {
		return nil
	}
	return err
}

func theirProfile(t *testing.T, c *cloud) error {
	_, err := c.clients.CreateInstanceProfile(t.Context(), aws.InstanceProfile{Name: "nodes", Role: "nodes", Tags: map[string]string{"owner": "somebody"}})
	return err
}

func theirQueue(t *testing.T, c *cloud) error {
	_, err := c.clients.CreateQueue(t.Context(), aws.Queue{Name: testCluster, MessageRetention: time.Hour, Tags: map[string]string{"owner": "somebody"}})
	return err
}

func theirRule(t *testing.T, c *cloud) error {
	_, err := c.clients.CreateRule(t.Context(), aws.Rule{
		Name: awsspec.EventRules(testCluster)[2].Name, Description: awsspec.EventRules(testCluster)[2].Description, Pattern: `{"source":["aws.ec2"]}`,
		TargetID: awsspec.QueueTargetID, TargetARN: "arn:aws:sqs:us-west-2:" + testAccount + ":theirs",
	})
	return err
}

func theirPolicy(t *testing.T, c *cloud) error {
	_, err := c.clients.CreatePolicy(t.Context(), aws.Policy{
		Name: controllerPolicyNames()[1], Document: `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`,
	})
	return err
}

// controllerPolicyNames are the names of the policies that controllerRoleHCL makes.
func controllerPolicyNames() []string {
	var names []string
	for _, p := range awsspec.ControllerPolicies(awsspec.ControllerPolicyInput{Partition: "aws", Region: testRegion, Account: testAccount, Cluster: testCluster, NodeRoleARN: testNodeRole}) {
		names = append(names, p.Name)
	}
	return names
}

func policyARN(name string) string { return "arn:aws:iam::" + testAccount + ":policy/" + name }

// rolesOf gives those of the roles that exist.
func rolesOf(t *testing.T, c *cloud, names ...string) (there []string) {
	t.Helper()
	for _, name := range names {
		if _, err := c.clients.GetRole(t.Context(), name); err == nil {
			there = append(there, "role "+name)
		}
	}
	return there
}

func policiesOf(t *testing.T, c *cloud) (there []string) {
	t.Helper()
	for _, name := range controllerPolicyNames() {
		if _, err := c.clients.GetPolicy(t.Context(), policyARN(name)); err == nil {
			there = append(there, "policy "+name)
		}
	}
	return there
}

func both(first, second func(*testing.T, *cloud) error) func(*testing.T, *cloud) error {
	return func(t *testing.T, c *cloud) error {
		if err := first(t, c); err != nil {
			return err
		}
		return second(t, c)
	}
}

func foreigners() map[string]foreign {
	return map[string]foreign{
		"node role": {
			config: nodeRoleHCL, says: "already exists", before: theirRole(theirNodeRole), look: lookAtRole(theirNodeRole),
			anew: both(func(t *testing.T, c *cloud) error { return c.clients.DeleteRole(t.Context(), theirNodeRole, "") }, theirRole(theirNodeRole)),
		},
		"access entry left over": {
			config: nodeRoleHCL, says: "access\\s+entry.*delete-access-entry", look: lookAtEntry,
			before: both(both(theirRole(theirNodeRole), theirEntry),
				func(t *testing.T, c *cloud) error { return c.clients.DeleteRole(t.Context(), theirNodeRole, "") }),
			leftovers: func(t *testing.T, c *cloud) []string { return rolesOf(t, c, theirNodeRole) },
		},
		"access entry of another type": {
			config: nodeRoleHCL, says: "access\\s+entry.*delete-access-entry", look: lookAtEntry,
			anew: both(func(t *testing.T, c *cloud) error {
				return c.clients.DeleteAccessEntry(t.Context(), testCluster, theirNodeRoleARN, "")
			}, theirEntry),
		},
		"controller role": {
			config: controllerRoleHCL, says: "already exists", before: theirRole(theirControllerRole), look: lookAtRole(theirControllerRole), leftovers: policiesOf,
			anew: both(func(t *testing.T, c *cloud) error { return c.clients.DeleteRole(t.Context(), theirControllerRole, "") }, theirRole(theirControllerRole)),
		},
		"policy of the controller role": {
			config: controllerRoleHCL, says: "already exists", before: theirPolicy,
			look: func(t *testing.T, c *cloud) (any, error) {
				return c.clients.GetPolicy(t.Context(), policyARN(controllerPolicyNames()[1]))
			},
			leftovers: func(t *testing.T, c *cloud) []string { return rolesOf(t, c, theirControllerRole) },
			anew: both(func(t *testing.T, c *cloud) error {
				name := controllerPolicyNames()[1]
				role, err := c.clients.GetRole(t.Context(), theirControllerRole)
				if err != nil {
					return err
				}
				without := role
				without.ManagedPolicies = nil
				if _, err := c.clients.UpdateRole(t.Context(), role, without); err != nil {
					return err
				}
				return c.clients.DeletePolicy(t.Context(), policyARN(name), "")
			}, theirPolicy),
		},
		"instance profile": {
			config: profileHCL, says: "already exists", before: both(nodesRole, theirProfile),
			look: func(t *testing.T, c *cloud) (any, error) { return c.clients.GetInstanceProfile(t.Context(), "nodes") },
			anew: both(func(t *testing.T, c *cloud) error { return c.clients.DeleteInstanceProfile(t.Context(), "nodes", "") }, theirProfile),
		},
		"queue": {
			config: queueHCL, says: "already exists", before: theirQueue,
			look: func(t *testing.T, c *cloud) (any, error) { return c.clients.GetQueue(t.Context(), testCluster) },
			anew: both(func(t *testing.T, c *cloud) error {
				made, err := c.clients.GetQueue(t.Context(), testCluster)
				if err != nil {
					return err
				}
				if err := c.clients.DeleteQueue(t.Context(), testCluster, ""); err != nil {
					return err
				}
				for strings.HasSuffix(made.ID, fmt.Sprintf("@%d", time.Now().Unix())) { // SQS keeps a name for a minute
					time.Sleep(50 * time.Millisecond)
				}
				return nil
			}, theirQueue),
		},
		"rule of the queue": {
			config: queueHCL, says: "already exists", before: theirRule,
			look: func(t *testing.T, c *cloud) (any, error) {
				return c.clients.GetRule(t.Context(), awsspec.EventRules(testCluster)[2].Name, awsspec.QueueTargetID)
			},
			anew: both(func(t *testing.T, c *cloud) error {
				return c.clients.DeleteRule(t.Context(), awsspec.EventRules(testCluster)[2].Name, "")
			}, theirRule),
			leftovers: func(t *testing.T, c *cloud) (there []string) {
				if _, err := c.clients.GetQueue(t.Context(), testCluster); err == nil {
					there = append(there, "queue")
				}
				for i, rule := range awsspec.EventRules(testCluster) {
					if _, err := c.clients.GetRule(t.Context(), rule.Name, awsspec.QueueTargetID); err == nil && i != 2 {
						there = append(there, "rule "+rule.Name)
					}
				}
				return there
			},
		},
	}
}

// TestAccForeign_IsNeverChangedOrDeleted has something of somebody else's in the
// way of every resource: first there, or put there in place of the resource's
// own. Two applies fail, and after the destroy it is as it was.
func TestAccForeign_IsNeverChangedOrDeleted(t *testing.T) {
	for _, cli := range clis(t) {
		for name, f := range foreigners() {
			if f.before != nil {
				t.Run(cli.name+"/"+name+" first", func(t *testing.T) { f.play(t, cli, f.before, false) })
			}
			if f.anew != nil {
				t.Run(cli.name+"/"+name+" anew", func(t *testing.T) { f.play(t, cli, f.anew, true) })
			}
		}
	}
}

func (f foreign) play(t *testing.T, cli cli, put func(*testing.T, *cloud) error, made bool) {
	t.Helper()
	cli.use(t)
	cloud := startCloud(t)
	if err := nodesRole(t, cloud); err != nil {
		t.Fatal(err)
	}
	var before string
	look := func() string {
		t.Helper()
		thing, err := f.look(t, cloud)
		if err != nil {
			t.Fatalf("it is gone: %v", err)
		}
		text, err := json.MarshalIndent(thing, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	says := regexp.MustCompile("(?s)" + f.says)
	var steps []resource.TestStep
	if made {
		steps = append(steps, resource.TestStep{Config: cloud.hcl("%s", f.config)})
	}
	steps = append(steps, resource.TestStep{
		PreConfig: meddle(t, func() error {
			err := put(t, cloud)
			if err == nil {
				before = look()
			}
			return err
		}),
		Config: cloud.hcl("%s", f.config), ExpectError: says,
	}, resource.TestStep{
		PreConfig: func() {
			if f.leftovers != nil && !made {
				if left := f.leftovers(t, cloud); len(left) > 0 {
					t.Errorf("the apply that failed left %v", left)
				}
			}
		},
		Config: cloud.hcl("%s", f.config), ExpectError: says,
	})
	run(t, func() error {
		if after := look(); after != before {
			return fmt.Errorf("what somebody else made is not as it was: %s", cmp.Diff(before, after))
		}
		if f.leftovers != nil {
			if left := f.leftovers(t, cloud); len(left) > 0 {
				return fmt.Errorf("the destroy left %v", left)
			}
		}
		return nil
	}, steps...)
}

// TestAccForeign_TagIsLeftBehind adopts a discovery tag that somebody put on, and
// refuses one of another cluster.
func TestAccForeign_TagIsLeftBehind(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			theirs, others, ours := cloud.vpc.SubnetIDs[0], cloud.vpc.SubnetIDs[1], cloud.vpc.ClusterSecurityGroupID
			for id, cluster := range map[string]string{theirs: testCluster, others: "other"} {
				if _, err := cloud.clients.CreateNetworkTag(t.Context(), awsspec.TagDiscovery, cluster, id); err != nil {
					t.Fatal(err)
				}
			}
			config := func(subnet string) string {
				return cloud.hcl("%s", `resource "karpenter_discovery_tags" "this" {
  cluster_name       = "`+testCluster+`"
  subnet_ids         = ["`+subnet+`"]
  security_group_ids = ["`+ours+`"]
}`)
			}
			run(t, func() error {
				tags, err := cloud.clients.NetworkTags(t.Context(), theirs, others, ours)
				if tags[theirs][awsspec.TagDiscovery] != testCluster || tags[others][awsspec.TagDiscovery] != "other" {
					err = errors.Join(err, fmt.Errorf("tags of somebody else's are gone: %v", tags))
				}
				if _, there := tags[ours][awsspec.TagDiscovery]; there {
					err = errors.Join(err, fmt.Errorf("our tag is left: %v", tags))
				}
				return err
			},
				resource.TestStep{Config: config(others), ExpectError: regexp.MustCompile(`(?s)karpenter.sh/discovery = "other"`)},
				resource.TestStep{Config: config(theirs)},
				resource.TestStep{ // taken off and put on again by somebody else: not ours any more
					PreConfig: meddle(t, func() error {
						return cloud.clients.DeleteNetworkTag(t.Context(), awsspec.TagDiscovery, testCluster, theirs)
					}),
					RefreshState: true, ExpectNonEmptyPlan: true,
				},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						_, err := cloud.clients.CreateNetworkTag(t.Context(), awsspec.TagDiscovery, testCluster, theirs)
						return err
					}),
					Config: config(theirs),
				},
			)
		})
	}
}
