package provider_test

import (
	"maps"
	"testing"
)

// classConfig is a good node class with the changes.
func classConfig(changes object) object {
	config := object{
		"name": "default", "instance_profile": "nodes",
		"subnet_selector_terms":         list{object{"tags": object{"karpenter.sh/discovery": "lab"}}},
		"security_group_selector_terms": list{object{"name": "nodes"}},
		"ami_selector_terms":            list{object{"alias": "al2023@latest"}},
	}
	maps.Copy(config, changes)
	return config
}

func TestNodeClass_BadInputNamesAttributeAndRemedy(t *testing.T) {
	h := newHarness(t)
	for name, tt := range map[string]struct {
		change object
		parts  []string
	}{
		"alias":                    {object{"ami_selector_terms": list{object{"alias": "al2@latest"}}}, []string{"ami_selector_terms[0].alias", "al2023@latest"}},
		"two images":               {object{"ami_selector_terms": list{object{"alias": "al2023@latest"}, object{"alias": "al2023@v20260115"}}}, []string{"ami_selector_terms"}},
		"image by id, and tags":    {object{"ami_family": "AL2023", "ami_selector_terms": list{object{"id": "ami-1", "tags": object{"a": "b"}}}}, []string{"ami_selector_terms", "two terms"}},
		"image without its family": {object{"ami_selector_terms": list{object{"id": "ami-1"}}}, []string{"set amiFamily"}},
		"an owner alone":           {object{"ami_family": "AL2023", "ami_selector_terms": list{object{"owner": "self"}}}, []string{"ami_selector_terms", "ssmParameter"}},
		"another family":           {object{"ami_family": "Bottlerocket", "ami_selector_terms": list{object{"id": "ami-1"}}}, []string{"ami_family", "AL2023"}},
		"no subnets":               {object{"subnet_selector_terms": list{}}, []string{"subnet_selector_terms"}},
		"empty term":               {object{"subnet_selector_terms": list{object{}}}, []string{"subnet_selector_terms", "tags or id"}},
		"id and tags":              {object{"subnet_selector_terms": list{object{"id": "subnet-1", "tags": object{"a": "b"}}}}, []string{"subnet_selector_terms", "not both"}},
		"id of something else":     {object{"security_group_selector_terms": list{object{"id": "subnet-1"}}}, []string{"security_group_selector_terms[0].id", "sg-"}},
		"empty reservation":        {object{"capacity_reservation_selector_terms": list{object{"owner_id": "123456789012"}}}, []string{"capacity_reservation_selector_terms", "tags, id or instanceMatchCriteria"}},
		"reservation and more":     {object{"capacity_reservation_selector_terms": list{object{"id": "cr-1", "owner_id": "123456789012"}}}, []string{"capacity_reservation_selector_terms", "two terms"}},
		"reservation's match":      {object{"capacity_reservation_selector_terms": list{object{"instance_match_criteria": "closed"}}}, []string{"capacity_reservation_selector_terms[0].instance_match_criteria", "targeted"}},
		"profile":                  {object{"instance_profile": "arn:aws:iam::1:instance-profile/x"}, []string{"instance_profile"}},
		"tag of the daemon":        {object{"tags": object{"karpenter.sh/nodepool": "x"}}, []string{"tags", "set by the daemon"}},
		"metadata":                 {object{"metadata_options": object{"http_tokens": "maybe"}}, []string{"metadata_options.http_tokens", "required"}},
		"hops":                     {object{"metadata_options": object{"http_put_response_hop_limit": 65}}, []string{"metadata_options.http_put_response_hop_limit", "64"}},
		"volume size":              {object{"block_device_mappings": list{object{"ebs": object{"volume_size": "20MB"}}}}, []string{"block_device_mappings[0].ebs.volume_size"}},
		"volume too large":         {object{"block_device_mappings": list{object{"ebs": object{"volume_size": "70Ti"}}}}, []string{"block_device_mappings[0].ebs.volume_size"}},
		"volume type":              {object{"block_device_mappings": list{object{"ebs": object{"volume_size": "20Gi", "volume_type": "gp4"}}}}, []string{"block_device_mappings[0].ebs.volume_type", "gp3"}},
		"two root volumes":         {object{"block_device_mappings": list{object{"root_volume": true}, object{"root_volume": true}}}, []string{"block_device_mappings", "rootVolume"}},
		"instance store":           {object{"instance_store_policy": "RAID1"}, []string{"instance_store_policy", "RAID0"}},
		"max pods":                 {object{"kubelet": object{"max_pods": 0}}, []string{"kubelet.max_pods"}},
		"pods per core":            {object{"kubelet": object{"pods_per_core": -1}}, []string{"kubelet.pods_per_core"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, h.validate("karpenter_node_class", classConfig(tt.change)), tt.parts...)
		})
	}
}

func TestNodeClass_WhatIsUnknownIsNotObjectedTo(t *testing.T) {
	h := newHarness(t)
	for name, change := range map[string]object{
		"nothing unknown":  nil,
		"images":           {"ami_family": unknown{}, "ami_selector_terms": list{object{"id": unknown{}}, object{"name": unknown{}, "owner": "self"}}},
		"images by terms":  {"ami_family": "AL2023", "ami_selector_terms": list{object{"id": "ami-1"}, object{"ssm_parameter": "/team/image"}, object{"tags": object{"a": "b"}}}},
		"profile":          {"instance_profile": unknown{}, "daemon": unknown{}},
		"selectors":        {"subnet_selector_terms": unknown{}, "security_group_selector_terms": list{object{"id": unknown{}}}},
		"a whole selector": {"subnet_selector_terms": list{unknown{}}},
		"selector tags":    {"subnet_selector_terms": list{object{"tags": unknown{}}}},
		"reservations":     {"capacity_reservation_selector_terms": list{object{"id": unknown{}}, object{"tags": unknown{}}}},
		"volume":           {"block_device_mappings": list{object{"ebs": object{"volume_size": unknown{}}}}},
		"tags":             {"tags": object{"a": unknown{}}},
		"metadata":         {"metadata_options": unknown{}, "kubelet": unknown{}},
	} {
		t.Run(name, func(t *testing.T) {
			wantNoError(t, h.validate("karpenter_node_class", classConfig(change)))
		})
	}
}

func TestNodeClass_DefaultTagsAreItsTagsToo(t *testing.T) {
	h := configured(t, object{"default_tags": object{"tags": object{"team": "platform", "env": "all"}}})
	p := h.resource("karpenter_node_class").plan(classConfig(object{"tags": object{"env": "test"}}))
	wantNoError(t, p.problems)
	all := attributeOf(t, p.value, "tags_all")
	if want := h.value(all.Type(), object{"team": "platform", "env": "test"}); !all.Equal(want) {
		t.Errorf("tags_all is planned as %s, want %s", all, want)
	}
	h = configured(t, object{"default_tags": object{"tags": object{"karpenter.sh/nodepool": "x"}}})
	wantError(t, h.resource("karpenter_node_class").plan(classConfig(nil)).problems, "default_tags", "karpenter.sh/nodepool", "set by the daemon")
}
