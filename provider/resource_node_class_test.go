package provider_test

import (
	"maps"
	"strings"
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
		"alias":                    {object{"ami_selector_terms": list{object{"alias": "windows2022@latest"}}}, []string{"ami_selector_terms[0].alias", "no nodes with Windows"}},
		"alias of no release":      {object{"ami_selector_terms": list{object{"alias": "al2@lates"}}}, []string{"ami_selector_terms[0].alias", `image alias "al2@lates": must be al2@latest or al2@v<release>`}},
		"alias of no family":       {object{"ami_selector_terms": list{object{"alias": "al2024@latest"}}}, []string{"ami_selector_terms[0].alias", "no such image family: write al2023"}},
		"two images":               {object{"ami_selector_terms": list{object{"alias": "al2023@latest"}, object{"alias": "al2023@v20260115"}}}, []string{"ami_selector_terms"}},
		"image by id, and tags":    {object{"ami_family": "AL2023", "ami_selector_terms": list{object{"id": "ami-1", "tags": object{"a": "b"}}}}, []string{"ami_selector_terms", "two terms"}},
		"image without its family": {object{"ami_selector_terms": list{object{"id": "ami-1"}}}, []string{"ami_selector_terms", "set ami_family"}},
		"an owner alone":           {object{"ami_family": "AL2023", "ami_selector_terms": list{object{"owner": "self"}}}, []string{"ami_selector_terms", "ssm_parameter"}},
		"another family":           {object{"ami_family": "Windows2022", "ami_selector_terms": list{object{"id": "ami-1"}}}, []string{"ami_family", "no nodes with Windows"}},
		"no subnets":               {object{"subnet_selector_terms": list{}}, []string{"subnet_selector_terms"}},
		"empty term":               {object{"subnet_selector_terms": list{object{}}}, []string{"subnet_selector_terms", "tags or id"}},
		"id and tags":              {object{"subnet_selector_terms": list{object{"id": "subnet-1", "tags": object{"a": "b"}}}}, []string{"subnet_selector_terms", "not both"}},
		"id of something else":     {object{"security_group_selector_terms": list{object{"id": "subnet-1"}}}, []string{"security_group_selector_terms[0].id", "sg-"}},
		"empty reservation":        {object{"capacity_reservation_selector_terms": list{object{"owner_id": "123456789012"}}}, []string{"capacity_reservation_selector_terms", "tags, id or instance_match_criteria"}},
		"reservation and more":     {object{"capacity_reservation_selector_terms": list{object{"id": "cr-1", "owner_id": "123456789012"}}}, []string{"capacity_reservation_selector_terms", "two terms"}},
		"reservation's match":      {object{"capacity_reservation_selector_terms": list{object{"instance_match_criteria": "closed"}}}, []string{"capacity_reservation_selector_terms[0].instance_match_criteria", "targeted"}},
		"tag of the daemon":        {object{"tags": object{"karpenter.sh/nodepool": "x"}}, []string{"tags", "set by the daemon"}},
		"metadata":                 {object{"metadata_options": object{"http_tokens": "maybe"}}, []string{"metadata_options.http_tokens", "required"}},
		"hops":                     {object{"metadata_options": object{"http_put_response_hop_limit": 65}}, []string{"metadata_options.http_put_response_hop_limit", "64"}},
		"volume size":              {object{"block_device_mappings": list{object{"ebs": object{"volume_size": "20MB"}}}}, []string{"block_device_mappings[0].ebs.volume_size"}},
		"volume too large":         {object{"block_device_mappings": list{object{"ebs": object{"volume_size": "70Ti"}}}}, []string{"block_device_mappings[0].ebs.volume_size"}},
		"no volume size":           {object{"block_device_mappings": list{object{"ebs": object{"volume_type": "gp3"}}}}, []string{"block_device_mappings[0].ebs", "snapshot_id"}},
		"a rate alone":             {object{"block_device_mappings": list{object{"ebs": object{"volume_size": "20Gi", "volume_initialization_rate": 100}}}}, []string{"block_device_mappings[0].ebs", "snapshot_id"}},
		"volume type":              {object{"block_device_mappings": list{object{"ebs": object{"volume_size": "20Gi", "volume_type": "gp4"}}}}, []string{"block_device_mappings[0].ebs.volume_type", "gp3"}},
		"two root volumes":         {object{"block_device_mappings": list{object{"root_volume": true}, object{"root_volume": true}}}, []string{"block_device_mappings", "root_volume"}},
		"instance store":           {object{"instance_store_policy": "RAID1"}, []string{"instance_store_policy", "RAID0"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, h.validate("karpenter_node_class", classConfig(tt.change)), tt.parts...)
		})
	}
}

// withRole is a good node class with the role, and with no instance profile.
func withRole(role any) object { return object{"role": role, "instance_profile": nil} }

func TestNodeClass_HasEitherRoleOrInstanceProfile(t *testing.T) {
	h := newHarness(t)
	for name, tt := range map[string]struct {
		change object
		parts  []string
	}{
		"neither":               {withRole(nil), []string{"role: neither role nor instance_profile is set", "set one of them"}},
		"both":                  {object{"role": "nodes"}, []string{"role: role and instance_profile are both set", "remove one of them"}},
		"both, one empty":       {object{"role": ""}, []string{"role", "remove one of them"}},
		"neither, much unknown": {object{"instance_profile": nil, "name": unknown{}, "subnet_selector_terms": unknown{}}, []string{"role", "set one of them"}},
		"empty role":            {withRole(""), []string{"role", `"" is not the name of an IAM role`, "64"}},
		"no name after a path":  {withRole("team/"), []string{"role", `"team/"`}},
		"no name":               {withRole("my role"), []string{"role", `"my role"`, "letters"}},
		"too long a name":       {withRole(strings.Repeat("x", 65)), []string{"role", "64"}},
		"no name, and unknown":  {object{"role": "my role", "instance_profile": unknown{}}, []string{"role", `"my role"`}},
		"empty profile":         {object{"instance_profile": ""}, []string{"instance_profile", `"" is not the name`, "set role"}},
		"ARN of a profile":      {object{"instance_profile": "arn:aws:iam::1:instance-profile/x"}, []string{"instance_profile", "without its path and ARN"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, h.validate("karpenter_node_class", classConfig(tt.change)), tt.parts...)
		})
	}
	for name, change := range map[string]object{
		"name":                           withRole("nodes"),
		"path":                           withRole("/team/nodes"),
		"ARN":                            withRole("arn:aws:iam::123456789012:role/team/nodes"),
		"unknown role":                   withRole(unknown{}),
		"unknown profile":                {"instance_profile": unknown{}},
		"role, and unknown profile":      {"role": "nodes", "instance_profile": unknown{}},
		"unknown role, and profile":      {"role": unknown{}},
		"both unknown, as is much":       {"role": unknown{}, "instance_profile": unknown{}, "user_data": unknown{}},
		"profile, and everything else":   nil,
		"unknown role, profile is empty": {"role": unknown{}, "instance_profile": nil},
	} {
		t.Run(name, func(t *testing.T) {
			wantNoError(t, h.validate("karpenter_node_class", classConfig(change)))
		})
	}
}

func TestNodeClass_KubeletThatDoesNotStartIsRefused(t *testing.T) {
	h := newHarness(t)
	const available = "memory.available"
	for name, tt := range map[string]struct {
		kubelet object
		parts   []string
	}{
		"an expression":          {object{"max_pods": "cores * 2"}, []string{"kubelet.max_pods", "no expression for a number", "min(110, max_pods)"}},
		"reserved by expression": {object{"kube_reserved": object{"memory": "vcpus > 1"}}, []string{"kubelet.kube_reserved", "of type bool"}},
		"extra, no object":       {object{"extra": "imageMaximumGCAge=10m"}, []string{"kubelet.extra", "no object"}},
		"extra, no such field":   {object{"extra": object{"imageMaximumAge": "10m"}}, []string{"kubelet.extra", `"imageMaximumAge"`, "no such field"}},
		"extra, of another type": {object{"extra": object{"podPidsLimit": "many"}}, []string{"kubelet.extra", `"podPidsLimit"`, "cannot read it"}},
		"extra, with attribute":  {object{"extra": object{"evictionHard": object{available: "5%"}}}, []string{"kubelet.extra", "has an attribute of its own", "write eviction_hard"}},
		"max pods":               {object{"max_pods": "0"}, []string{"kubelet.max_pods"}},
		"pods per core":          {object{"pods_per_core": -1}, []string{"kubelet.pods_per_core"}},
		"reserved resource":      {object{"system_reserved": object{"gpu": "1"}}, []string{"kubelet.system_reserved", "write cpu, memory, ephemeral-storage or pid"}},
		"reserved, no quantity":  {object{"system_reserved": object{"cpu": "lots"}}, []string{"kubelet.system_reserved", `"lots" for cpu`, "100m"}},
		"reserved, negative":     {object{"kube_reserved": object{"cpu": "1", "memory": "-1Gi"}}, []string{"kubelet.kube_reserved", `"-1Gi" for memory`, "0 or more"}},
		"signal":                 {object{"eviction_hard": object{"memory.free": "1Gi"}}, []string{"kubelet.eviction_hard", "nodefs.inodesFree"}},
		"threshold":              {object{"eviction_hard": object{available: "much"}}, []string{"kubelet.eviction_hard", `"much" for memory.available`, "5%"}},
		"threshold of nothing":   {object{"eviction_hard": object{available: "0"}}, []string{"kubelet.eviction_hard", `"0" for memory.available`, "above 0"}},
		"threshold, empty":       {object{"eviction_hard": object{available: ""}}, []string{"kubelet.eviction_hard", `"" for memory.available`}},
		"threshold above all":    {object{"eviction_hard": object{available: "101%"}}, []string{"kubelet.eviction_hard", `"101%"`, "100%"}},
		"soft threshold":         {object{"eviction_soft": object{available: "-1"}, "eviction_soft_grace_period": object{available: "1m"}}, []string{"kubelet.eviction_soft:", `"-1"`}},
		"no grace period":        {object{"eviction_soft": object{available: "5%"}}, []string{"kubelet.eviction_soft:", "memory.available has no grace period", "add it to eviction_soft_grace_period"}},
		"another's grace period": {object{"eviction_soft": object{available: "5%"}, "eviction_soft_grace_period": object{available: "1m", "pid.available": "1m"}}, []string{"kubelet.eviction_soft_grace_period", "pid.available has no threshold", "add it to eviction_soft"}},
		"grace period":           {object{"eviction_soft": object{available: "5%"}, "eviction_soft_grace_period": object{available: "soon"}}, []string{"kubelet.eviction_soft_grace_period", `"soon" for memory.available`, "1m30s"}},
		"negative grace period":  {object{"eviction_soft": object{available: "5%"}, "eviction_soft_grace_period": object{available: "-1m"}}, []string{"kubelet.eviction_soft_grace_period", `"-1m"`}},
		"high above 100":         {object{"image_gc_high_threshold_percent": 101}, []string{"kubelet.image_gc_high_threshold_percent", "100"}},
		"low below 0":            {object{"image_gc_low_threshold_percent": -1}, []string{"kubelet.image_gc_low_threshold_percent", "0"}},
		"high not above low":     {object{"image_gc_high_threshold_percent": 70, "image_gc_low_threshold_percent": 70}, []string{"kubelet.image_gc_high_threshold_percent", "(70 and 70)", "raise it above image_gc_low_threshold_percent"}},
		"high and the default":   {object{"image_gc_high_threshold_percent": 80}, []string{"kubelet.image_gc_high_threshold_percent", "set both"}},
		"low and the default":    {object{"image_gc_low_threshold_percent": 85}, []string{"kubelet.image_gc_low_threshold_percent", "set both"}},
	} {
		t.Run(name, func(t *testing.T) {
			wantError(t, h.validate("karpenter_node_class", classConfig(object{"kubelet": tt.kubelet})), tt.parts...)
		})
	}
	for name, kubelet := range map[string]object{
		"all of it": {
			"cluster_dns": list{"10.100.0.10", "fd00::a"}, "max_pods": "50", "pods_per_core": 0,
			"system_reserved": object{"cpu": "0", "memory": "100Mi", "ephemeral-storage": "1Gi", "pid": "100"}, "kube_reserved": object{"cpu": "1e-1"},
			"eviction_hard": object{available: "0%", "nodefs.available": "10.5%", "nodefs.inodesFree": "100%"}, "eviction_soft": object{available: "1.5Gi"},
			"eviction_soft_grace_period": object{available: "1m30s"}, "eviction_max_pod_grace_period": 60,
			"image_gc_high_threshold_percent": 70, "image_gc_low_threshold_percent": 50, "cpu_cfs_quota": false,
			"extra": object{"imageMaximumGCAge": "10m", "podPidsLimit": 1024, "featureGates": object{"NodeSwap": true}, "allowedUnsafeSysctls": list{"net.core.somaxconn"}},
		},
		"expressions":             {"max_pods": "min(110, max_pods)", "kube_reserved": object{"memory": "max_pods * 11", "pid": "100"}},
		"unknown extra":           {"extra": unknown{}},
		"high, and unknown low":   {"image_gc_high_threshold_percent": 50, "image_gc_low_threshold_percent": unknown{}},
		"low, and unknown high":   {"image_gc_high_threshold_percent": unknown{}, "image_gc_low_threshold_percent": 90},
		"soft, and unknown times": {"eviction_soft": object{available: "5%"}, "eviction_soft_grace_period": unknown{}},
		"soft, and unknown time":  {"eviction_soft": object{available: "5%"}, "eviction_soft_grace_period": object{available: unknown{}}},
		"unknown elements":        {"cluster_dns": list{unknown{}}, "system_reserved": object{"cpu": unknown{}}, "eviction_hard": object{available: unknown{}}},
		"nothing":                 {"eviction_hard": object{}, "eviction_soft": object{}, "cluster_dns": list{}},
	} {
		t.Run(name, func(t *testing.T) {
			wantNoError(t, h.validate("karpenter_node_class", classConfig(object{"kubelet": kubelet})))
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
		"snapshot":         {"block_device_mappings": list{object{"ebs": object{"snapshot_id": unknown{}}}}},
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
