package deploy

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
)

// Declare makes an object as a user writes it.
func Declare(group, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// NodeClass is an EC2NodeClass that finds its subnets and security groups by the
// discovery tag.
func NodeClass(l *lab.Lab, name string) *unstructured.Unstructured {
	discovery := []any{map[string]any{"tags": map[string]any{awsspec.TagDiscovery: l.ClusterName}}}
	return Declare(awsv1.Group, awsv1.EC2NodeClassKind, name, map[string]any{
		"subnetSelectorTerms": discovery, "securityGroupSelectorTerms": discovery,
		"amiSelectorTerms": []any{map[string]any{"alias": "al2023@latest"}}, "instanceProfile": NodeRole,
	})
}
