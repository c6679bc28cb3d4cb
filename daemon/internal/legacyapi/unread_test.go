package legacyapi_test

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// fieldsOf are the names in JSON of the fields of the struct.
func fieldsOf(t reflect.Type) (out []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			out = append(out, name)
		} else if f.Anonymous {
			out = append(out, fieldsOf(f.Type)...)
		}
	}
	return out
}

func TestServer_AFieldOfAWrongTypeHoldsUpNoOtherProvisioner(t *testing.T) {
	refused := 0
	for _, value := range []any{"words", int64(7), true, []any{int64(7)}, []any{map[string]any{"x": int64(7)}}, map[string]any{"x": []any{int64(7)}}} {
		for _, field := range fieldsOf(reflect.TypeFor[wire.ProvisionerSpec]()) {
			b := newBench(t)
			b.template(nil)
			b.provisioner("bad", map[string]any{field: value})
			b.provisioner("good", nil)
			b.sync()
			if !translate.Pool(b.pool("good")).Ready || b.condition("good", "Served").Status != metav1.ConditionTrue {
				t.Errorf("spec.%s: %v: the other is not served", field, value)
			}
			bad := translate.Pool(b.pool("bad"))
			if bad.Ready {
				continue
			}
			refused++
			if c := b.condition("bad", "Served"); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, field) || !strings.Contains(c.Message, "bad") {
				t.Errorf("spec.%s: %v: condition %+v", field, value, c)
			}
			events := len(b.events)
			b.sync()
			if events == 0 || len(b.events) != events {
				t.Errorf("spec.%s: %v: events %q", field, value, b.events)
			}
			b.provisioner("bad", nil)
			if !translate.Pool(b.pool("bad")).Ready {
				t.Errorf("spec.%s: %v: it is not served once it is corrected", field, value)
			}
		}
	}
	if refused < 40 {
		t.Errorf("only %d Provisioners were refused", refused)
	}
}

func TestServer_AFieldOfAWrongTypeInATemplateHoldsUpNoOtherTemplatesProvisioner(t *testing.T) {
	for _, value := range []any{int64(7), []any{int64(7)}, map[string]any{"x": []any{int64(7)}}} {
		for _, field := range fieldsOf(reflect.TypeFor[wire.AWSNodeTemplateSpec]()) {
			b := newBench(t)
			spec := b.template(nil).Object["spec"].(map[string]any)
			b.apply(b.templates, "AWSNodeTemplate", "another", spec)
			b.template(map[string]any{field: value})
			b.provisioner("bad", nil)
			b.provisioner("good", map[string]any{"providerRef": map[string]any{"name": "another"}})
			b.sync()
			if !translate.Pool(b.pool("good")).Ready || b.condition("good", "Served").Status != metav1.ConditionTrue {
				t.Errorf("spec.%s: %v: the other is not served", field, value)
			}
			if bad := translate.Pool(b.pool("bad")); !bad.Ready && !strings.Contains(b.condition("bad", "Served").Message, field) {
				t.Errorf("spec.%s: %v: condition %+v", field, value, b.condition("bad", "Served"))
			}
		}
	}
}

func TestServer_AStatusOfAWrongTypeHoldsUpNoOther(t *testing.T) {
	for _, status := range []any{"words", int64(7), []any{"x"}, map[string]any{"conditions": "x"}, map[string]any{"resources": int64(7), "conditions": []any{int64(7)}}} {
		b := newBench(t)
		b.template(nil)
		bad := b.provisioner("bad", nil).DeepCopy()
		bad.Object["status"] = status
		b.provisioners.put(bad)
		b.Observe(bad)
		b.provisioner("good", nil)
		b.sync()
		for _, name := range []string{"bad", "good"} {
			if !translate.Pool(b.pool(name)).Ready || b.condition(name, "Served").Status != metav1.ConditionTrue {
				t.Errorf("status %v: %s is not served: %+v", status, name, b.provisioners.all[name].Object["status"])
			}
		}
	}
}
