package v1

import (
	_ "embed"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns karpenter.sh/v1.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// AddToScheme registers the group's types.
func AddToScheme(s *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
		s.AddKnownTypes(GroupVersion(), &NodePool{}, &NodePoolList{}, &NodeClaim{}, &NodeClaimList{})
		metav1.AddToGroupVersion(s, GroupVersion())
		return nil
	})
	return builder.AddToScheme(s)
}

var (
	//go:embed crds/karpenter.sh_nodeclaims.yaml
	nodeClaimCRD string
	//go:embed crds/karpenter.sh_nodepools.yaml
	nodePoolCRD string
)

// CRDs returns the group's CustomResourceDefinitions, one YAML document each.
func CRDs() [][]byte {
	return [][]byte{[]byte(nodeClaimCRD), []byte(nodePoolCRD)}
}
