package provider_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	kuberesource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/definition"
)

// fieldsOf lists the paths of a type's fields that have no fields of their own. A list
// is "[]", and a map has some key: messages about an element name the map.
func fieldsOf(at string, typ reflect.Type, out *[]string) {
	switch {
	case typ.Kind() == reflect.Pointer:
		fieldsOf(at, typ.Elem(), out)
	case typ.Kind() == reflect.Slice:
		fieldsOf(at+"[]", typ.Elem(), out)
	case typ.Kind() == reflect.Struct && typ != reflect.TypeFor[kuberesource.Quantity]() && typ != reflect.TypeFor[intstr.IntOrString]():
		for field := range typ.Fields() {
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			inner := at
			if name == "-" { // the fields of the kubelet that have no name here
				*out = append(*out, at+".extra")
				continue
			}
			if !strings.Contains(options, "inline") {
				inner += "." + name
			}
			fieldsOf(inner, field.Type, out)
		}
	case typ.Kind() == reflect.Map:
		*out = append(*out, at+".some.key")
	default:
		*out = append(*out, at)
	}
}

// attributesOf lists the paths of attributes that have no attributes of their own.
func attributesOf(at string, attributes []*tfprotov6.SchemaAttribute, out *[]string) {
	for _, a := range attributes {
		inner := strings.TrimPrefix(at+"."+a.Name, ".")
		if a.NestedType == nil {
			*out = append(*out, inner)
			continue
		}
		attributesOf(inner, a.NestedType.Attributes, out)
	}
}

// carriedOut tells whether the daemon carries the field out, for some of its values at
// least.
func carriedOut(t *testing.T, field string) bool {
	t.Helper()
	for _, row := range translate.FieldsOf(awsv1.EC2NodeClassKind) {
		if field == row.Path || strings.HasPrefix(field, row.Path+".") || strings.HasPrefix(field, row.Path+"[]") {
			return row.Support == translate.CarriedOut || row.Support == translate.Refused && row.Concerns != nil
		}
	}
	t.Errorf("%s: the table of fields does not have it", field)
	return false
}

// TestNodeClass_EveryFieldThatIsCarriedOutIsAnAttribute compares the fields of the
// EC2NodeClass's spec with the attributes, both ways.
func TestNodeClass_EveryFieldThatIsCarriedOutIsAnAttribute(t *testing.T) {
	var fields, attributes []string
	fieldsOf("spec", reflect.TypeFor[awsv1.EC2NodeClassSpec](), &fields)
	schema := newHarness(t).schema.ResourceSchemas["karpenter_node_class"]
	attributesOf("", schema.Block.Attributes, &attributes)
	if len(fields) < 50 || len(attributes) < 50 {
		t.Fatalf("%d fields and %d attributes", len(fields), len(attributes))
	}
	// These are about the object, and about Terraform.
	spare := slices.DeleteFunc(attributes, func(a string) bool {
		return slices.Contains([]string{"name", "daemon", "object_labels", "object_annotations", "tags_all", "wait", "ready"}, a) || strings.HasPrefix(a, "timeouts.")
	})
	for _, field := range fields {
		attribute := strings.ReplaceAll(strings.Join(definition.Attribute(strings.ReplaceAll(field, "[]", "[0]"), strings.NewReplacer("spec.", ""), schema.ValueType()), "."), ".0", "")
		at := slices.Index(spare, attribute)
		switch {
		case at >= 0:
			spare = slices.Delete(spare, at, at+1)
		case carriedOut(t, field):
			t.Errorf("%s is carried out, and there is no attribute %s", field, attribute)
		}
	}
	if len(spare) > 0 {
		t.Errorf("attributes that are no fields of the spec: %q", spare)
	}
}
