package provider_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ec2sim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// The sweep of the resources in AWS. See sweep.

func TestSweep_AWS(t *testing.T) {
	for _, s := range awsSweeps() {
		s.run(t)
	}
}

// The names of somebody else's things.
const (
	theirs         = "theirs"
	secondNodeRole = "nodes-2"
	boundaryPolicy = "boundary"
)

func awsSweeps() []*sweep {
	boundary := policyARN(boundaryPolicy)
	one, two := object{"env": "one", "old": "x"}, object{"env": "two"}
	return []*sweep{
		{
			kind: "karpenter_controller_role", id: testCluster + "," + theirControllerRole, setting: setAWS(meddleWithController), remade: true, oneIn: 4, faults: faultsInAWS(), writes: writesAWS, denial: denialInAWS,
			// What changes: one policy more, the documents of two others, the trust policy,
			// the boundary and the tags.
			first: object{"cluster_name": testCluster, "node_role_arn": testNodeRole, "tags": one},
			second: object{
				"cluster_name": testCluster, "node_role_arn": testNodeRole, "node_role_arns": list{testNodeRole + "-2"}, "queue_arn": testQueue,
				"service_account": "other", "permissions_boundary": boundary, "tags": two,
			},
		},
		{
			kind: "karpenter_node_role", id: testCluster + "," + theirNodeRole, setting: setAWS(meddleWithNode), remade: true, oneIn: 4, faults: faultsInAWS(), writes: writesAWS, denial: denialInAWS,
			first:  object{"cluster_name": testCluster, "tags": one},
			second: object{"cluster_name": testCluster, "permissions_boundary": boundary, "tags": two},
		},
		{
			kind: "karpenter_instance_profile", id: "ours", setting: setAWS(nil), oneIn: 4, faults: faultsInAWS(), writes: writesAWS, denial: denialInAWS,
			first:  object{"name": "ours", "role": "nodes", "tags": one},
			second: object{"name": "ours", "role": secondNodeRole, "tags": two},
		},
		{
			kind: "karpenter_discovery_tags", id: testCluster, unproven: true, setting: setAWS(meddleWithTags), remade: true, oneIn: 4, faults: faultsInAWS(), writes: writesAWS, denial: denialInAWS,
			first:  object{"cluster_name": testCluster, "subnet_ids": list{"subnet-ours", "subnet-tagged"}, "security_group_ids": list{"sg-ours"}},
			second: object{"cluster_name": testCluster, "subnet_ids": list{"subnet-tagged", "subnet-more"}},
		},
		{
			kind: "karpenter_interruption_queue", id: testCluster + "," + testCluster, setting: setAWS(meddleWithQueue), remade: true, oneIn: 4, faults: faultsInAWS(), writes: writesAWS, denial: denialInAWS,
			first:  object{"cluster_name": testCluster, "tags": one},
			second: object{"cluster_name": testCluster, "tags": two},
		},
	}
}

// setAWS makes a scene in a simulated AWS that has things of somebody else.
func setAWS(meddle func(context.Context, *cloud) map[string]func() error) func(t *testing.T) *scene {
	return func(t *testing.T) *scene {
		t.Helper()
		c := startCloud(t)
		must(t, othersInAWS(t.Context(), c))
		ids := c.networkIDs()
		s := &scene{look: func() map[string]wire.Thing { return c.named(ids) }, snapshot: c.Snapshot, meddle: map[string]func(){}}
		s.resolve = func(config object) object { return withIDs(config, ids) }
		s.gate = &gate{service: c, identify: c.identify, refuse: c.refuse, deaf: func(string) bool { return false }}
		s.config = c.config()
		at := s.gate.start(t)
		for service := range endpoints(at) {
			s.config["endpoints"].(object)[service] = at
		}
		if meddle != nil {
			for operation, do := range meddle(t.Context(), c) {
				s.meddle[operation] = func() { must(t, do()) }
			}
		}
		return s
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// othersInAWS makes what somebody else has: things with names like ours, and things that
// ours refer to.
func othersInAWS(ctx context.Context, c *cloud) error {
	deny := `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`
	policy := func(name string) error {
		_, err := c.clients.CreatePolicy(ctx, aws.Policy{Name: name, Document: deny, Tags: map[string]string{"owner": "somebody"}})
		return err
	}
	queue, err := c.clients.CreateQueue(ctx, aws.Queue{Name: testCluster + "-" + theirs, MessageRetention: time.Hour, Tags: map[string]string{"owner": "somebody"}})
	if err != nil {
		return err
	}
	_, ruleErr := c.clients.CreateRule(ctx, aws.Rule{
		Name: "Karpenter-" + testCluster + "-" + theirs, Description: theirs, Pattern: `{"source":["aws.ec2"]}`, TargetID: awsspec.QueueTargetID, TargetARN: queue.ARN,
	})
	roles := []func(context.Context, *cloud) error{
		nodesRole, theirRole(theirNodeRole + "-" + theirs), theirRole(theirControllerRole + "-" + theirs), theirRole(secondNodeRole),
	}
	errs := []error{ruleErr, policy(boundaryPolicy), policy("Karpenter-" + testRegion + "-" + testCluster + "-" + theirs)}
	for _, role := range roles {
		errs = append(errs, role(ctx, c))
	}
	_, profileErr := c.clients.CreateInstanceProfile(ctx, aws.InstanceProfile{Name: theirs, Role: secondNodeRole, Tags: map[string]string{"owner": "somebody"}})
	_, entryErr := c.clients.CreateAccessEntry(ctx, aws.AccessEntry{Cluster: testCluster, PrincipalARN: testNodeRole + "-2", Type: "EC2_LINUX"})
	_, ownerErr := c.clients.CreateNetworkTag(ctx, "owner", "somebody", c.vpc.SubnetIDs[0], c.vpc.ClusterSecurityGroupID)
	_, tagErr := c.clients.CreateNetworkTag(ctx, awsspec.TagDiscovery, testCluster, c.vpc.SubnetIDs[1])
	return errors.Join(append(errs, profileErr, entryErr, ownerErr, tagErr)...)
}

// What somebody does to our things before an operation.

func meddleWithController(ctx context.Context, c *cloud) map[string]func() error {
	return map[string]func() error{
		"update": func() error {
			return c.meddleWithRole(ctx, theirControllerRole, func(r *aws.Role) { r.ManagedPolicies, r.Description = r.ManagedPolicies[1:], "meddled" })
		},
		"remake": func() error {
			if err := c.clients.DeleteRole(ctx, theirControllerRole, aws.AnyID); err != nil {
				return err
			}
			return c.clients.DeletePolicy(ctx, policyARN(controllerPolicyNames()[1]), aws.AnyID)
		},
	}
}

func meddleWithNode(ctx context.Context, c *cloud) map[string]func() error {
	return map[string]func() error{
		"update": func() error {
			return c.meddleWithRole(ctx, theirNodeRole, func(r *aws.Role) {
				r.ManagedPolicies, r.Description, r.TrustPolicy = r.ManagedPolicies[1:], "meddled", awsspec.IRSATrust(testIssuer, testAccount, "aws", "a", "b")
			})
		},
		"back":   func() error { return dropEntry(ctx, c) },
		"remake": func() error { return c.clients.DeleteRole(ctx, theirNodeRole, aws.AnyID) },
	}
}

func (c *cloud) meddleWithRole(ctx context.Context, name string, change func(*aws.Role)) error {
	found, err := c.clients.GetRole(ctx, name)
	if err != nil {
		return err
	}
	meddled := found
	change(&meddled)
	_, err = c.clients.UpdateRole(ctx, found, meddled)
	return err
}

func meddleWithTags(ctx context.Context, c *cloud) map[string]func() error {
	return map[string]func() error{
		"remake": func() error {
			return c.clients.DeleteNetworkTag(ctx, awsspec.TagDiscovery, testCluster, c.vpc.SubnetIDs[0])
		},
	}
}

func meddleWithQueue(ctx context.Context, c *cloud) map[string]func() error {
	rules := awsspec.EventRules(testCluster)
	return map[string]func() error{
		"update": func() error {
			found, err := c.clients.GetRule(ctx, rules[0].Name, awsspec.QueueTargetID)
			if err != nil {
				return err
			}
			meddled := found
			meddled.Pattern, meddled.TargetARN = `{"source":["aws.ec2"]}`, found.TargetARN+"-"+theirs
			_, err = c.clients.UpdateRule(ctx, found, meddled)
			return err
		},
		"back":   func() error { return c.clients.DeleteRule(ctx, rules[1].Name, aws.AnyID) },
		"remake": func() error { return c.clients.DeleteQueue(ctx, testCluster, aws.AnyID) },
	}
}

var signedFor = regexp.MustCompile(`Credential=[^/]+/[^/]+/[^/]+/([^/]+)/`)

// identify names a call by service and action. The SDK numbers calls, not their
// repetitions.
func (c *cloud) identify(r *http.Request, body []byte) (id, name string) {
	service := "unsigned"
	if m := signedFor.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		service = m[1]
	}
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if form, err := url.ParseQuery(string(body)); action == "" && err == nil {
		action = form.Get("Action")
	}
	if service == "eks" {
		action = c.EKS.Route(r.Method, r.URL.EscapedPath())
	}
	return r.Header.Get("Amz-Sdk-Invocation-Id"), service + ":" + action
}

// reads tells whether an action changes nothing.
func reads(action string) bool {
	return strings.HasPrefix(action, "Get") || strings.HasPrefix(action, "List") || strings.HasPrefix(action, "Describe")
}

func writesAWS(call string) bool {
	_, action, _ := strings.Cut(call, ":")
	return !reads(action)
}

func faultsInAWS() []fault {
	return []fault{denied, throttled, conflict, lost, unanswered, interrupted, killedBefore, killedAfter}
}

// denialInAWS is what a service says of a call that it denies.
func denialInAWS(call string) string { return call }

// refuse answers as the service does.
func (c *cloud) refuse(w http.ResponseWriter, r *http.Request, name string, f fault) {
	service, action, _ := strings.Cut(name, ":")
	refusal := awssim.Fault{Service: service, Action: action, Times: 1}
	switch f {
	case throttled:
		refusal.Message = "Rate exceeded"
		refusal.Code = map[string]string{"iam": "Throttling", "ec2": "RequestLimitExceeded", "sqs": "RequestThrottled"}[service]
		refusal.Code = cmp.Or(refusal.Code, "ThrottlingException")
	case conflict:
		refusal.Message, refusal.Status = "Somebody else writes to it", http.StatusConflict
		refusal.Code = conflictCode(service, action)
	default:
		refusal.Code = map[string]string{"iam": "AccessDenied", "ec2": "UnauthorizedOperation", "sqs": "AccessDenied"}[service]
		refusal.Code, refusal.Status = cmp.Or(refusal.Code, "AccessDeniedException"), http.StatusForbidden
		refusal.Message = fmt.Sprintf("User: arn:aws:iam::%s:user/deployer is not authorized to perform: %s on resource: *", testAccount, name)
	}
	c.Faults().Inject(refusal)
	c.ServeHTTP(w, r)
}

// conflictCode is the code of the error for a write that meets another.
func conflictCode(service, action string) string {
	switch {
	case service == "iam" && strings.HasPrefix(action, "Create"):
		return "EntityAlreadyExists"
	case service == "iam" && strings.HasPrefix(action, "Delete"):
		return "DeleteConflict"
	case service == "iam":
		return "ConcurrentModification"
	case service == "eks":
		return "ResourceInUseException"
	case service == "sqs" && action == "CreateQueue":
		return "QueueAlreadyExists"
	case service == "ec2":
		return "ConcurrentTagAccess"
	}
	return "ConcurrentModificationException"
}

// networkIDs are the ids for the names in the configurations of the discovery tags: a
// subnet without a tag, a subnet that somebody else has tagged, one more, and a security
// group.
func (c *cloud) networkIDs() map[string]string {
	return map[string]string{
		"subnet-ours": c.vpc.SubnetIDs[0], "subnet-tagged": c.vpc.SubnetIDs[1], "sg-ours": c.vpc.ClusterSecurityGroupID,
		"subnet-more": c.EC2.SeedSubnet(ec2sim.SubnetSpec{VPCID: c.vpc.ID, Zone: testRegion + "a", CIDR: "10.1.0.0/24"}),
	}
}

// ruleID is the tag that the provider gives to a rule.
var ruleID = regexp.MustCompile(`"karpenterd.sh/id":"([A-Z2-7]+)"`)

// named gives what the account has, with names in place of the ids.
func (c *cloud) named(ids map[string]string) map[string]wire.Thing {
	out := map[string]wire.Thing{}
	for key, thing := range c.Inventory() {
		for name, id := range ids {
			key = strings.ReplaceAll(key, id, name)
		}
		if m := ruleID.FindStringSubmatch(thing.Content); m != nil {
			thing.Identity, thing.Content = m[1], strings.ReplaceAll(thing.Content, m[1], "ID")
		}
		out[key] = thing
	}
	return out
}

// withIDs is the configuration with ids in place of the names.
func withIDs(config object, ids map[string]string) object {
	out := maps.Clone(config)
	for attribute, value := range config {
		names, isList := value.(list)
		if !isList {
			continue
		}
		values := slices.Clone(names)
		for i, name := range names {
			if id, known := ids[fmt.Sprint(name)]; known {
				values[i] = id
			}
		}
		out[attribute] = values
	}
	return out
}
