package provider_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// somebodysPolicy is a policy that nothing of ours names.
const somebodysPolicy = "somebodys"

const denyAll = `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`

// exceptionsInAWS are what is not mended in AWS.
func exceptionsInAWS() []exception {
	const foreign = "tags of others are left alone"
	const ofNodes = "EKS sets it for entries of nodes, and refuses changes"
	const notOurs = "the provider does not set it"
	spot := "iam role/" + awsspec.SpotRoleName
	return []exception{
		{key: spot, path: "description", end: left, why: notOurs},
		{key: spot, path: "tags", end: left, why: foreign},
		{key: spot, end: fixed, why: "IAM protects service-linked roles"},
		{key: "iam role/", path: "path", end: fixed, why: "a path is for life"},
		{key: "iam role/", path: "attached somebodys", end: left, why: "policies that others attach are left alone"},
		{key: "iam role/", path: "inline somebodys", end: left, why: "inline policies of others are left alone"},
		{key: "iam role/", path: "tags somebodys", end: left, why: foreign},
		{key: "iam role/", path: "tags " + awsspec.TagClusterName, end: left, why: "the marks of a new role are for its creation"},
		{key: "iam role/", path: "tags " + awsspec.TagRegion, end: left, why: "the marks of a new role are for its creation"},
		{key: "iam policy/", path: "description", end: fixed, why: "IAM has no call that changes it"},
		{key: "iam policy/", path: "tags somebodys", end: left, why: foreign},
		{key: "iam profile/", path: "path", end: fixed, why: "a path is for life"},
		{key: "iam profile/", path: "tags somebodys", end: left, why: foreign},
		{key: "eks pods/", path: "tags somebodys", end: left, why: foreign},
		{key: "eks entry/", path: "groups", end: fixed, why: ofNodes},
		{key: "eks entry/", path: "policies somebodys", end: fixed, why: ofNodes},
		{key: "eks entry/", path: "type", end: fixed, why: "a type is for life"},
		{key: "eks entry/", path: "username", end: fixed, why: ofNodes},
		{key: "eks entry/", path: "tags somebodys", end: left, why: foreign},
		{key: "sqs queue/", path: "tags somebodys", end: left, why: foreign},
		{key: "sqs queue/", path: "attributes DelaySeconds", end: left, why: notOurs},
		{key: "sqs queue/", path: "attributes MaximumMessageSize", end: left, why: notOurs},
		{key: "sqs queue/", path: "attributes ReceiveMessageWaitTimeSeconds", end: left, why: notOurs},
		{key: "sqs queue/", path: "attributes VisibilityTimeout", end: left, why: notOurs},
		{key: "events rule/", path: "role", end: left, why: notOurs},
		{key: "events rule/", path: "tags somebodys", end: left, why: foreign},
		{key: "events rule/", path: "targets somebodys", end: left, why: "targets of others are left alone"},
		{key: "events rule/", path: "tags karpenterd.sh/id", how: "removed", end: refused, says: "already exists", why: "it is the identity of the rule"},
		{key: "events rule/", path: "tags karpenterd.sh/id", how: "emptied", end: refused, says: "already exists", why: "it is the identity of the rule"},
		{key: "events rule/", path: "tags karpenterd.sh/id", end: taken, why: "it is as if an apply that was cut off had left the rule"},
		{key: "ec2 ", end: refused, says: "has the tag " + awsspec.TagDiscovery, why: "the tag says that another cluster has it"},
	}
}

func TestBehind_EveryChangeOfEveryObjectInAWSIsSeenAndMended(t *testing.T) {
	exceptions, used, played := exceptionsInAWS(), map[int]bool{}, map[string]bool{}
	for _, begin := range awsTrials() {
		s := begin(t)
		t.Run(s.kind, func(t *testing.T) {
			s.h.t = t
			w := s.cloud.world(t)
			for n, config := range s.fulls(t) {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					s.h.t = t
					b := behind{kind: s.kind, i: s.h.resource(s.kind), config: config, base: s.base, world: w, exceptions: exceptions, used: used, played: played}
					b.walk(t, 3)
				})
			}
		})
	}
	for n, e := range exceptions {
		if !used[n] {
			t.Errorf("nothing needs the exception for %q %q any more: remove it", e.key, e.path)
		}
	}
}

// world is the account.
func (c *cloud) world(t *testing.T) world {
	t.Helper()
	_, err := c.clients.CreatePolicy(t.Context(), aws.Policy{Name: somebodysPolicy, Document: denyAll})
	must(t, err)
	must(t, theirRole(secondNodeRole)(t.Context(), c))
	queue := "arn:aws:sqs:" + testRegion + ":" + testAccount + ":" + theirs
	return world{
		look: func() map[string]wire.Thing { return c.named(nil) }, raw: c.Inventory, overwrite: c.Overwrite, remove: c.Remove, snapshot: c.Snapshot,
		refused: func(err error) bool { return errors.Is(err, awssim.ErrRefused) },
		texts: func(path, text string) []string {
			switch {
			case strings.Contains(text, ":policy/"):
				return []string{policyARN(somebodysPolicy)}
			case path == "role" && text == "nodes":
				return []string{secondNodeRole}
			}
			return nil
		},
		// EKS knows a role that was made anew by another id.
		along: func(deleted, key string) bool {
			return strings.HasPrefix(deleted, "iam role/") && strings.HasPrefix(key, "eks entry/")
		},
		additions: func(path string) []any {
			return map[string][]any{
				"tags": {"x"}, "attached": {policyARN(somebodysPolicy)}, "inline": {denyAll}, "targets": {queue}, "groups": {"others"},
				"policies": {"arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"},
			}[path]
		},
	}
}
