package awsv1

import (
	_ "embed"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion returns karpenter.k8s.aws/v1.
func GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: Group, Version: Version}
}

// AddToScheme registers the group's types.
func AddToScheme(s *runtime.Scheme) error {
	builder := runtime.NewSchemeBuilder(func(s *runtime.Scheme) error {
		s.AddKnownTypes(GroupVersion(), &EC2NodeClass{}, &EC2NodeClassList{})
		metav1.AddToGroupVersion(s, GroupVersion())
		return nil
	})
	return builder.AddToScheme(s)
}

//go:embed crds/karpenter.k8s.aws_ec2nodeclasses.yaml
var crd string

// CRDs returns the group's CustomResourceDefinitions, one YAML document each.
func CRDs() [][]byte {
	return [][]byte{[]byte(crd)}
}
