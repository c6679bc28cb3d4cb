package legacy

import (
	"reflect"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// The types of v1 here have texts where those of the API have numbers, so each field is in both.
// One that is missing here would be left out of every configuration, as if no version had it.
func TestCurrent_EveryFieldOfTheAPIIsRead(t *testing.T) {
	for _, c := range []struct{ api, here reflect.Type }{
		{reflect.TypeFor[v1.NodePoolSpec](), reflect.TypeFor[nodePoolSpec]()},
		{reflect.TypeFor[v1.NodeClaimSpec](), reflect.TypeFor[nodeSpec]()},
		{reflect.TypeFor[awsv1.EC2NodeClassSpec](), reflect.TypeFor[classInputSpec]()},
	} {
		missing(t, c.api.Name(), c.api, c.here)
	}
}

// missing reports the fields of the API's type that the type here has not.
func missing(t *testing.T, path string, api, here reflect.Type) {
	t.Helper()
	api, here = element(api), element(here)
	if api.Kind() != reflect.Struct || here.Kind() != reflect.Struct {
		return
	}
	known := fieldsOf(here)
	for _, f := range reflect.VisibleFields(api) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if of := api.FieldByIndex(f.Index[:1]); name == "" || name == "-" || of.Type == reflect.TypeFor[awsv1.UnsupportedSpec]() {
			continue
		}
		if known[name] == nil {
			t.Errorf("%s.%s is not read", path, name)
			continue
		}
		missing(t, path+"."+name, f.Type, known[name])
	}
}

// element is what a type is of: the members of a list, what a pointer points to.
func element(of reflect.Type) reflect.Type {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	return of
}
