package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// foreign is an object in the way of a resource: somebody else made it under the
// name that the resource uses.
type foreign struct {
	kind   string // type of the resource
	config object
	says   string // part of the error
	// before makes the object before the resource exists. anew deletes the resource's
	// own object and makes another in its place. nil: does not apply.
	before, anew func(context.Context, *cloud) error
	// look gives the whole object as it is.
	look func(context.Context, *cloud) (any, error)
	// leftovers names the objects that a failed creation has left: there must be none.
	leftovers func(context.Context, *cloud) []string
}

const (
	theirNodeRole       = "KarpenterNodeRole-" + testCluster
	theirControllerRole = "KarpenterControllerRole-" + testCluster
	theirNodeRoleARN    = "arn:aws:iam::" + testAccount + ":role/" + theirNodeRole
)

// theirRole makes a role of that name whose every field is somebody else's.
func theirRole(name string) func(context.Context, *cloud) error {
	return func(ctx context.Context, c *cloud) error {
		_, err := c.clients.CreateRole(ctx, aws.Role{
			Name: name, Description: "theirs", TrustPolicy: awsspec.IRSATrust(testIssuer, testAccount, "aws", "a", "b"),
			Tags: map[string]string{"owner": "somebody"}, ManagedPolicies: []string{"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"},
			InlinePolicies: map[string]string{"theirs": `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`},
		})
		return err
	}
}

func lookAtRole(name string) func(context.Context, *cloud) (any, error) {
	return func(ctx context.Context, c *cloud) (any, error) { return c.clients.GetRole(ctx, name) }
}

func lookAtEntry(ctx context.Context, c *cloud) (any, error) {
	return c.clients.GetAccessEntry(ctx, testCluster, theirNodeRoleARN)
}

func theirEntry(kind string) func(context.Context, *cloud) error {
	return func(ctx context.Context, c *cloud) error {
		_, err := c.clients.CreateAccessEntry(ctx, aws.AccessEntry{
			Cluster: testCluster, PrincipalARN: theirNodeRoleARN, Type: kind, Tags: map[string]string{"owner": "somebody"},
		})
		return err
	}
}

func dropEntry(ctx context.Context, c *cloud) error {
	return c.clients.DeleteAccessEntry(ctx, testCluster, theirNodeRoleARN, aws.AnyID)
}

func nodesRole(ctx context.Context, c *cloud) error {
	_, err := c.clients.CreateRole(ctx, aws.Role{Name: "nodes", TrustPolicy: awsspec.NodeTrust("aws")})
	if errors.Is(err, aws.ErrConflict) {
		return nil
	}
	return err
}

func theirProfile(ctx context.Context, c *cloud) error {
	_, err := c.clients.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: "nodes", Role: "nodes", Tags: map[string]string{"owner": "somebody"}})
	return err
}

func theirQueue(ctx context.Context, c *cloud) error {
	_, err := c.clients.CreateQueue(ctx, aws.Queue{Name: testCluster, MessageRetention: time.Hour, Tags: map[string]string{"owner": "somebody"}})
	return err
}

func theirRule(ctx context.Context, c *cloud) error {
	_, err := c.clients.CreateRule(ctx, aws.Rule{
		Name: awsspec.EventRules(testCluster)[2].Name, Description: awsspec.EventRules(testCluster)[2].Description, Pattern: `{"source":["aws.ec2"]}`,
		TargetID: awsspec.QueueTargetID, TargetARN: "arn:aws:sqs:us-west-2:" + testAccount + ":theirs",
	})
	return err
}

func theirPolicy(ctx context.Context, c *cloud) error {
	_, err := c.clients.CreatePolicy(ctx, aws.Policy{
		Name: controllerPolicyNames()[1], Document: `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`,
	})
	return err
}

// controllerPolicyNames are the names of the policies that a controller role makes.
func controllerPolicyNames() []string {
	var names []string
	for _, p := range awsspec.ControllerPolicies(awsspec.ControllerPolicyInput{Partition: "aws", Region: testRegion, Account: testAccount, Cluster: testCluster, NodeRoleARNs: []string{testNodeRole}}) {
		names = append(names, p.Name)
	}
	return names
}

func policyARN(name string) string { return "arn:aws:iam::" + testAccount + ":policy/" + name }

// rolesOf gives the roles of those names that exist.
func rolesOf(ctx context.Context, c *cloud, names ...string) (there []string) {
	for _, name := range names {
		if _, err := c.clients.GetRole(ctx, name); err == nil {
			there = append(there, "role "+name)
		}
	}
	return there
}

func policiesOf(ctx context.Context, c *cloud) (there []string) {
	for _, name := range controllerPolicyNames() {
		if _, err := c.clients.GetPolicy(ctx, policyARN(name)); err == nil {
			there = append(there, "policy "+name)
		}
	}
	return there
}

func both(first, second func(context.Context, *cloud) error) func(context.Context, *cloud) error {
	return func(ctx context.Context, c *cloud) error {
		if err := first(ctx, c); err != nil {
			return err
		}
		return second(ctx, c)
	}
}

func foreigners() map[string]foreign {
	return map[string]foreign{
		"node role": {
			kind: "karpenter_node_role", config: object{"cluster_name": testCluster}, says: "already exists", before: theirRole(theirNodeRole), look: lookAtRole(theirNodeRole),
			anew: both(func(ctx context.Context, c *cloud) error { return c.clients.DeleteRole(ctx, theirNodeRole, aws.AnyID) }, theirRole(theirNodeRole)),
		},
		"access entry left over": {
			kind: "karpenter_node_role", config: object{"cluster_name": testCluster}, says: "access\\s+entry.*delete-access-entry", look: lookAtEntry,
			before: both(both(theirRole(theirNodeRole), theirEntry("EC2_LINUX")),
				func(ctx context.Context, c *cloud) error { return c.clients.DeleteRole(ctx, theirNodeRole, aws.AnyID) }),
			leftovers: func(ctx context.Context, c *cloud) []string { return rolesOf(ctx, c, theirNodeRole) },
		},
		"access entry of another type": {
			kind: "karpenter_node_role", config: object{"cluster_name": testCluster}, says: "access\\s+entry.*delete-access-entry", look: lookAtEntry,
			anew: both(dropEntry, theirEntry("EC2_WINDOWS")),
		},
		"access entry of the same type": {
			kind: "karpenter_node_role", config: object{"cluster_name": testCluster}, says: "access\\s+entry.*delete-access-entry", look: lookAtEntry,
			anew: both(dropEntry, theirEntry("EC2_LINUX")),
		},
		"controller role": {
			kind: "karpenter_controller_role", config: object{"cluster_name": testCluster, "node_role_arn": testNodeRole}, says: "already exists", before: theirRole(theirControllerRole), look: lookAtRole(theirControllerRole), leftovers: policiesOf,
			anew: both(func(ctx context.Context, c *cloud) error {
				return c.clients.DeleteRole(ctx, theirControllerRole, aws.AnyID)
			}, theirRole(theirControllerRole)),
		},
		"policy of the controller role": {
			kind: "karpenter_controller_role", config: object{"cluster_name": testCluster, "node_role_arn": testNodeRole}, says: "already exists", before: theirPolicy,
			look: func(ctx context.Context, c *cloud) (any, error) {
				return c.clients.GetPolicy(ctx, policyARN(controllerPolicyNames()[1]))
			},
			leftovers: func(ctx context.Context, c *cloud) []string { return rolesOf(ctx, c, theirControllerRole) },
			anew: both(func(ctx context.Context, c *cloud) error {
				name := controllerPolicyNames()[1]
				role, err := c.clients.GetRole(ctx, theirControllerRole)
				if err != nil {
					return err
				}
				without := role
				without.ManagedPolicies = nil
				if _, err := c.clients.UpdateRole(ctx, role, without); err != nil {
					return err
				}
				return c.clients.DeletePolicy(ctx, policyARN(name), aws.AnyID)
			}, theirPolicy),
		},
		"instance profile": {
			kind: "karpenter_instance_profile", config: object{"name": "nodes", "role": "nodes"}, says: "already exists", before: both(nodesRole, theirProfile),
			look: func(ctx context.Context, c *cloud) (any, error) { return c.clients.GetInstanceProfile(ctx, "nodes") },
			anew: both(func(ctx context.Context, c *cloud) error {
				return c.clients.DeleteInstanceProfile(ctx, "nodes", aws.AnyID)
			}, theirProfile),
		},
		"queue": {
			kind: "karpenter_interruption_queue", config: object{"cluster_name": testCluster}, says: "already exists", before: theirQueue,
			look: func(ctx context.Context, c *cloud) (any, error) { return c.clients.GetQueue(ctx, testCluster) },
			anew: both(func(ctx context.Context, c *cloud) error {
				made, err := c.clients.GetQueue(ctx, testCluster)
				if err != nil {
					return err
				}
				if err := c.clients.DeleteQueue(ctx, testCluster, aws.AnyID); err != nil {
					return err
				}
				for strings.HasSuffix(made.ID, fmt.Sprintf("@%d", time.Now().Unix())) { // SQS keeps a name for a minute
					time.Sleep(50 * time.Millisecond)
				}
				return nil
			}, theirQueue),
		},
		"rule of the queue": {
			kind: "karpenter_interruption_queue", config: object{"cluster_name": testCluster}, says: "already exists", before: theirRule,
			look: func(ctx context.Context, c *cloud) (any, error) {
				return c.clients.GetRule(ctx, awsspec.EventRules(testCluster)[2].Name, awsspec.QueueTargetID)
			},
			anew: both(func(ctx context.Context, c *cloud) error {
				return c.clients.DeleteRule(ctx, awsspec.EventRules(testCluster)[2].Name, aws.AnyID)
			}, theirRule),
			leftovers: func(ctx context.Context, c *cloud) (there []string) {
				if _, err := c.clients.GetQueue(ctx, testCluster); err == nil {
					there = append(there, "queue")
				}
				for i, rule := range awsspec.EventRules(testCluster) {
					if _, err := c.clients.GetRule(ctx, rule.Name, awsspec.QueueTargetID); err == nil && i != 2 {
						there = append(there, "rule "+rule.Name)
					}
				}
				return there
			},
		},
	}
}

// lookText is the object as text. It fails the test if the object is gone.
func (f foreign) lookText(t *testing.T, c *cloud) string {
	t.Helper()
	thing, err := f.look(t.Context(), c)
	if err != nil {
		t.Fatalf("it is gone: %v", err)
	}
	text, err := json.MarshalIndent(thing, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestForeign_InPlaceOfOursIsLeftAloneWithoutRefresh replaces the object that the
// resource made, then updates and destroys with a state that does not know of the
// replacement.
func TestForeign_InPlaceOfOursIsLeftAloneWithoutRefresh(t *testing.T) {
	for name, f := range foreigners() {
		if f.anew == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			cloud := startCloud(t)
			if err := nodesRole(t.Context(), cloud); err != nil {
				t.Fatal(err)
			}
			resource := configured(t, cloud.config()).resource(f.kind)
			wantNoError(t, resource.apply(f.config))
			if err := f.anew(t.Context(), cloud); err != nil {
				t.Fatal(err)
			}
			before := f.lookText(t, cloud)
			changed := maps.Clone(f.config)
			changed["tags"] = object{"env": "test"}
			wantError(t, resource.apply(changed), "another of the same name", "terraform state rm")
			if after := f.lookText(t, cloud); after != before {
				t.Errorf("an update changed it: %s", cmp.Diff(before, after))
			}
			wantNoError(t, resource.destroy())
			if after := f.lookText(t, cloud); after != before {
				t.Errorf("a destroy changed it: %s", cmp.Diff(before, after))
			}
		})
	}
}

// TestForeign_StateWithoutRecordIsRefreshedFirst has a state without a record of what
// was made. With this state nothing may be changed or deleted.
func TestForeign_StateWithoutRecordIsRefreshedFirst(t *testing.T) {
	cloud := startCloud(t)
	resource := configured(t, cloud.config()).resource("karpenter_node_role")
	config := object{"cluster_name": testCluster}
	wantNoError(t, resource.apply(config))
	resource.private = nil
	wantError(t, resource.destroy(), "has no record", "-refresh-only")
	wantNoError(t, resource.read())
	wantNoError(t, resource.destroy())
}
