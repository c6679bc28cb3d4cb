package convert

import (
	"reflect"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
)

// That every attribute has a text, TestSchema_EveryAttributeIsDescribed of the provider says.
func TestTexts_EachDescribesAField(t *testing.T) {
	for at := range nodeClassTexts() {
		of := reflect.TypeFor[awsv1.EC2NodeClassSpec]()
		for name := range strings.SplitSeq(at, ".") {
			for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
				of = of.Elem()
			}
			f, has := fieldNamed(of, name)
			if !has {
				t.Errorf("%s describes no field of %s", at, of)
				break
			}
			of = f.typ
		}
	}
}

// A field that no attribute holds has no conversion, and a plan would not show that it is lost.
func TestNodeClass_EveryAttributeHasTheTypeOfItsField(t *testing.T) {
	spec := reflect.TypeFor[awsv1.EC2NodeClassSpec]()
	for name, held := range held(reflect.ValueOf(NodeClass{})) {
		f, has := fieldNamed(spec, name)
		if !has {
			t.Errorf("%s is no field of the spec", name)
			continue
		}
		if of := reflect.TypeOf(f.attribute().ValueType(t.Context())); of != held.Type() {
			t.Errorf("%s is held by a %s, want a %s", name, held.Type(), of)
		}
	}
}
