package ec2sim

import (
	"fmt"
	"net/url"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWildcardMatch(t *testing.T) {
	for _, test := range []struct {
		pattern, value string
		want           bool
	}{
		{"owned", "owned", true},
		{"owned", "Owned", false},
		{"own", "owned", false},
		{"*", "", true},
		{"*", "anything", true},
		{"a*c", "abbc", true},
		{"a*c", "abbd", false},
		{"*b*b*", "abab", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{"?", "", false},
		{`a\*c`, "a*c", true},
		{`a\*c`, "abc", false},
		{`\?`, "?", true},
		{`\?`, "x", false},
	} {
		if got := wildcardMatch(test.pattern, test.value); got != test.want {
			t.Errorf("pattern %q on %q: %v, want %v", test.pattern, test.value, got, test.want)
		}
	}
}

func TestDecodeForm_ReadsNestedListsInOrder(t *testing.T) {
	var got struct {
		dryRun
		Outer []struct {
			Name   string   `q:"Name"`
			Values []string `q:"Value"`
			Size   *int64   `q:"Size"`
		} `q:"Outer"`
	}
	err := decodeForm(url.Values{
		"Action": {"X"}, "Version": {"1"}, "DryRun": {"true"},
		"Outer.10.Name": {"ten"}, "Outer.2.Name": {"two"}, "Outer.2.Value.2": {"b"}, "Outer.2.Value.1": {"a"}, "Outer.2.Size": {"5"},
	}, &got)
	if err != nil {
		t.Fatal(err)
	}
	if !got.DryRun || len(got.Outer) != 2 || got.Outer[0].Name != "two" || got.Outer[1].Name != "ten" ||
		!slices.Equal(got.Outer[0].Values, []string{"a", "b"}) || *got.Outer[0].Size != 5 || got.Outer[1].Size != nil {
		t.Errorf("decoded %+v", got)
	}
}

func TestDescribe_FiltersTagsAndIDs(t *testing.T) {
	c := newCloud(t)
	ids := c.vpc.SubnetIDs
	do[done](c, "CreateTags", "ResourceId.1", ids[0], "ResourceId.2", ids[1], "Tag.1.Key", "karpenter.sh/discovery", "Tag.1.Value", "lab")
	do[done](c, "CreateTags", "ResourceId.1", ids[1], "Tag.1.Key", "tier", "Tag.1.Value", "private")
	for _, test := range []struct {
		name  string
		pairs []string
		want  []string
	}{
		{"tag value", []string{"Filter.1.Name", "tag:karpenter.sh/discovery", "Filter.1.Value.1", "lab"}, ids[:2]},
		{"tag wildcard", []string{"Filter.1.Name", "tag:karpenter.sh/discovery", "Filter.1.Value.1", "l*"}, ids[:2]},
		{"tag key", []string{"Filter.1.Name", "tag-key", "Filter.1.Value.1", "tier"}, ids[1:2]},
		{"two filters are both needed", []string{"Filter.1.Name", "tag-key", "Filter.1.Value.1", "tier", "Filter.2.Name", "subnet-id", "Filter.2.Value.1", ids[0]}, nil},
		{"values of a filter are alternatives", []string{"Filter.1.Name", "subnet-id", "Filter.1.Value.1", ids[0], "Filter.1.Value.2", ids[2]}, []string{ids[0], ids[2]}},
		{"ids", []string{"SubnetId.1", ids[2]}, ids[2:]},
		{"zone", []string{"Filter.1.Name", "availability-zone", "Filter.1.Value.1", "us-west-2b"}, ids[1:2]},
	} {
		var got []string
		for _, n := range do[page[subnetItem]](c, "DescribeSubnets", test.pairs...).Items {
			got = append(got, n.ID)
		}
		slices.Sort(got)
		want := slices.Clone(test.want)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
	c.refused("InvalidParameterValue", "DescribeSubnets", "Filter.1.Name", "colour", "Filter.1.Value.1", "blue")
	c.refused("InvalidParameterValue", "DescribePlacementGroups", "Filter.1.Name", "colour", "Filter.1.Value.1", "blue")
	c.refused("InvalidSubnetID.NotFound", "DescribeSubnets", "SubnetId.1", "subnet-0")
	c.refused("InvalidGroup.NotFound", "DescribeSecurityGroups", "GroupId.1", "sg-0")
	c.refused("InvalidInstanceID.Malformed", "DescribeInstances", "InstanceId.1", "nonsense")
	c.refused("InvalidInstanceID.NotFound", "DescribeInstances", "InstanceId.1", "i-0123456789abcdef0")
	c.refused("UnknownParameter", "DescribeSubnets", "Colour", "blue")
}

func TestDescribe_PagesShowEverythingOnce(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	c.fleet(onDemand, "lowest-price", 13, []string{"m5.large@a"})
	var want, got []string
	for _, i := range c.Instances() {
		want = append(want, i.ID)
	}
	pairs := []string{"MaxResults", "5"}
	for range 4 {
		shown := do[page[reservationItem]](c, "DescribeInstances", pairs...)
		for _, r := range shown.Items {
			for _, i := range r.Instances {
				got = append(got, i.ID)
			}
		}
		if shown.NextToken == "" {
			break
		}
		pairs = []string{"MaxResults", "5", "NextToken", shown.NextToken}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	c.refused("InvalidParameterValue", "DescribeInstances", "MaxResults", "4")
	c.refused("InvalidNextToken", "DescribeInstances", "NextToken", "!!")
	c.refused("InvalidParameterCombination", "DescribeInstances", "MaxResults", "5", "InstanceId.1", want[0])
}

func TestDescribeTags_SameTagsEverywhere(t *testing.T) {
	c := newCloud(t)
	c.template("lt-a")
	id := c.fleet(onDemand, "lowest-price", 1, []string{"m5.large@a"}).Instances[0].IDs[0]
	do[done](c, "CreateTags", "ResourceId.1", id, "Tag.1.Key", "Name", "Tag.1.Value", "node")
	item := do[page[reservationItem]](c, "DescribeInstances", "InstanceId.1", id).Items[0].Instances[0]
	listed := do[page[tagItem]](c, "DescribeTags", "Filter.1.Name", "resource-id", "Filter.1.Value.1", id).Items
	var fromTags set[tag]
	for _, entry := range listed {
		fromTags = append(fromTags, tag{entry.Key, entry.Value})
	}
	if diff := cmp.Diff(item.Tags, fromTags); diff != "" {
		t.Errorf("DescribeInstances and DescribeTags differ:\n%s", diff)
	}
	if got := c.Instances()[0].Tags["Name"]; got != "node" {
		t.Errorf("the laboratory sees Name=%q", got)
	}
	do[done](c, "DeleteTags", "ResourceId.1", id, "Tag.1.Key", "Name", "Tag.1.Value", "other")
	do[done](c, "DeleteTags", "ResourceId.1", id, "Tag.1.Key", "karpenter.sh/nodepool")
	tags := c.Instances()[0].Tags
	if _, gone := tags["karpenter.sh/nodepool"]; gone || tags["Name"] != "node" {
		t.Errorf("tags after deletion: %v", tags)
	}
	c.refused("InvalidParameterValue", "CreateTags", "ResourceId.1", id, "Tag.1.Key", "aws:x", "Tag.1.Value", "y")
	many := []string{"ResourceId.1", id}
	for n := range 51 {
		many = append(many, fmt.Sprintf("Tag.%d.Key", n+1), fmt.Sprint("k", n), fmt.Sprintf("Tag.%d.Value", n+1), "v")
	}
	c.refused("TagLimitExceeded", "CreateTags", many...)
	if access := c.asks("ec2:CreateTags", ":instance/"+id); access == nil || access.Resources[0].Tags["karpenter.sh/nodepool"] != "default" {
		t.Errorf("IAM saw %v for CreateTags, want the instance with its tags", access)
	}
}
