package v1

import (
	"embed"
	"io/fs"

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

//go:embed crds/*.yaml
var crds embed.FS

// CRDs returns the group's CustomResourceDefinitions, one YAML document each, sorted by name.
func CRDs() [][]byte {
	names, err := fs.Glob(crds, "crds/*.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	out := make([][]byte, 0, len(names))
	for _, name := range names {
		doc, err := crds.ReadFile(name)
		if err != nil {
			panic(err) // an embedded file that Glob has just named
		}
		out = append(out, doc)
	}
	return out
}
