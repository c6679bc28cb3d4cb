//go:build lab

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// TestAccForeign_IsNeverChangedOrDeleted puts an object of somebody else in the way
// of every resource: before the create, or in place of the resource's own object.
// Two applies fail, and after the destroy the object is unchanged.
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

// hcl is the resource as a user writes it.
func (f foreign) hcl() string {
	var b strings.Builder
	fmt.Fprintf(&b, "resource %q \"this\" {\n", f.kind)
	for _, name := range slices.Sorted(maps.Keys(f.config)) {
		fmt.Fprintf(&b, "  %s = %q\n", name, f.config[name])
	}
	return b.String() + "}\n"
}

func (f foreign) play(t *testing.T, cli cli, put func(context.Context, *cloud) error, made bool) {
	t.Helper()
	cli.use(t)
	cloud := startCloud(t)
	if err := nodesRole(t.Context(), cloud); err != nil {
		t.Fatal(err)
	}
	var before string
	says := regexp.MustCompile("(?s)" + f.says)
	config := cloud.hcl("%s", f.hcl())
	var steps []resource.TestStep
	if made {
		steps = append(steps, resource.TestStep{Config: config})
	}
	steps = append(steps, resource.TestStep{
		PreConfig: meddle(t, func() error {
			err := put(t.Context(), cloud)
			if err == nil {
				before = f.lookText(t, cloud)
			}
			return err
		}),
		Config: config, ExpectError: says,
	}, resource.TestStep{
		PreConfig: func() {
			if f.leftovers != nil && !made {
				if left := f.leftovers(t.Context(), cloud); len(left) > 0 {
					t.Errorf("the apply that failed left %v", left)
				}
			}
		},
		Config: config, ExpectError: says,
	})
	run(t, func() error {
		if after := f.lookText(t, cloud); after != before {
			return fmt.Errorf("what somebody else made is not as it was: %s", cmp.Diff(before, after))
		}
		if f.leftovers != nil {
			if left := f.leftovers(t.Context(), cloud); len(left) > 0 {
				return fmt.Errorf("the destroy left %v", left)
			}
		}
		return nil
	}, steps...)
}

// TestAccForeign_TagIsLeftBehind uses a discovery tag that somebody else added, and
// refuses a tag of another cluster. The destroy leaves both.
func TestAccForeign_TagIsLeftBehind(t *testing.T) {
	for _, cli := range clis(t) {
		t.Run(cli.name, func(t *testing.T) {
			cli.use(t)
			cloud := startCloud(t)
			theirs, others, again := cloud.vpc.SubnetIDs[0], cloud.vpc.SubnetIDs[1], cloud.vpc.ClusterSecurityGroupID
			for id, cluster := range map[string]string{theirs: testCluster, others: "other"} {
				if _, err := cloud.clients.CreateNetworkTag(t.Context(), awsspec.TagDiscovery, cluster, id); err != nil {
					t.Fatal(err)
				}
			}
			config := func(subnet string) string {
				return cloud.hcl("%s", `resource "karpenter_discovery_tags" "this" {
  cluster_name       = "`+testCluster+`"
  subnet_ids         = ["`+subnet+`"]
  security_group_ids = ["`+again+`"]
}`)
			}
			run(t, func() error {
				tags, err := cloud.clients.NetworkTags(t.Context(), theirs, others, again)
				if tags[theirs][awsspec.TagDiscovery] != testCluster || tags[others][awsspec.TagDiscovery] != "other" {
					err = errors.Join(err, fmt.Errorf("tags of somebody else's are gone: %v", tags))
				}
				if tags[again][awsspec.TagDiscovery] != testCluster {
					err = errors.Join(err, fmt.Errorf("the tag that somebody put on again is gone: %v", tags))
				}
				return err
			},
				resource.TestStep{Config: config(others), ExpectError: regexp.MustCompile(`(?s)karpenter.sh/discovery = "other"`)},
				resource.TestStep{Config: config(theirs)},
				resource.TestStep{ // somebody removes the tag and adds it again: it is no longer ours
					PreConfig: meddle(t, func() error {
						return cloud.clients.DeleteNetworkTag(t.Context(), awsspec.TagDiscovery, testCluster, again)
					}),
					RefreshState: true, ExpectNonEmptyPlan: true,
				},
				resource.TestStep{
					PreConfig: meddle(t, func() error {
						_, err := cloud.clients.CreateNetworkTag(t.Context(), awsspec.TagDiscovery, testCluster, again)
						return err
					}),
					Config: config(theirs),
				},
			)
		})
	}
}
