package definition_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/definition"
)

func TestAttribute_NamesTheAttributeOfAField(t *testing.T) {
	object := func(fields map[string]tftypes.Type) tftypes.Type { return tftypes.Object{AttributeTypes: fields} }
	list := func(of tftypes.Type) tftypes.Type { return tftypes.List{ElementType: of} }
	texts := tftypes.Map{ElementType: tftypes.String}
	config := object(map[string]tftypes.Type{
		"requirements": list(object(map[string]tftypes.Type{"values": tftypes.Set{ElementType: tftypes.String}})), "taints": list(object(nil)),
		"limits": texts, "disruption": object(nil), "block_device_mappings": list(object(map[string]tftypes.Type{"ebs": object(nil)})), "metadata_options": object(nil),
		"subnet_selector_terms": list(object(map[string]tftypes.Type{"tags": texts})), "ami_selector_terms": list(object(nil)),
		"kubelet": object(map[string]tftypes.Type{
			"eviction_hard": texts, "system_reserved": texts, "eviction_soft_grace_period": texts, "extra": tftypes.DynamicPseudoType, "cluster_dns": list(tftypes.String),
		}),
	})
	rename := strings.NewReplacer("spec.template.spec.nodeClassRef.name", "node_class", "spec.template.spec.", "", "spec.", "")
	for fieldPath, want := range map[string]string{
		"spec.template.spec.requirements[0].values[1]":  "requirements[0].values",
		"spec.template.spec.taints[2].effect":           "taints[2].effect",
		"spec.template.spec.nodeClassRef.name":          "node_class",
		"spec.limits[nvidia.com/gpu]":                   "limits",
		"spec.disruption.consolidateAfter":              "disruption.consolidate_after",
		"spec.blockDeviceMappings[0].ebs.kmsKeyID":      "block_device_mappings[0].ebs.kms_key_id",
		"spec.metadataOptions.httpProtocolIPv6":         "metadata_options.http_protocol_ipv6",
		"spec.metadataOptions.httpPutResponseHopLimit":  "metadata_options.http_put_response_hop_limit",
		"spec.associatePublicIPAddress":                 "associate_public_ip_address",
		"spec.subnetSelectorTerms[1].tags[a.b/c].extra": "subnet_selector_terms[1].tags",
		"spec.amiSelectorTerms":                         "ami_selector_terms",
		"spec.kubelet.evictionHard.memory.available":    "kubelet.eviction_hard",
		"spec.kubelet.evictionHard[memory.available]":   "kubelet.eviction_hard",
		"spec.kubelet.systemReserved.cpu":               "kubelet.system_reserved",
		"spec.kubelet.evictionSoftGracePeriod":          "kubelet.eviction_soft_grace_period",
		"spec.kubelet.imageGCHighThresholdPercent":      "kubelet.image_gc_high_threshold_percent",
		"spec.kubelet.cpuCFSQuota":                      "kubelet.cpu_cfs_quota",
		"spec.kubelet.clusterDNS[0]":                    "kubelet.cluster_dns[0]",
		"spec.kubelet.extra.tracing.endpoint":           "kubelet.extra",
		"spec.amiSelectorTerms[0].alias":                "ami_selector_terms[0].alias",
		"spec":                                          "spec",
	} {
		if got := definition.Attribute(fieldPath, rename, config).Path().String(); got != want {
			t.Errorf("%s is attribute %s, want %s", fieldPath, got, want)
		}
	}
}

func TestTouches_IsAboutAncestorsAndDescendants(t *testing.T) {
	unknown := []definition.Steps{{"requirements", "0", "values"}}
	for _, tt := range []struct {
		steps definition.Steps
		want  bool
	}{
		{definition.Steps{"requirements"}, true},
		{definition.Steps{"requirements", "0", "values"}, true},
		{definition.Steps{"requirements", "1"}, false},
		{definition.Steps{"taints"}, false},
		{nil, true},
	} {
		if got := tt.steps.Touches(unknown); got != tt.want {
			t.Errorf("%v touches: %v, want %v", tt.steps, got, tt.want)
		}
	}
}
