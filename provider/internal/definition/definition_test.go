package definition_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/definition"
)

func pool(requirements ...v1.Requirement) *v1.NodePoolSpec {
	return &v1.NodePoolSpec{Template: v1.NodeTemplate{Spec: v1.NodeTemplateSpec{NodeSpec: v1.NodeSpec{
		Requirements: requirements,
		NodeClassRef: v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"},
	}}}}
}

func TestValidate_RunsTheDefinitionsOwnRules(t *testing.T) {
	pools := definitionOf(t, "NodePool")
	errs, err := pools.Validate(t.Context(), pool(v1.Requirement{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpIn, Values: []string{"arm64"}}))
	if err != nil || len(errs) > 0 {
		t.Fatalf("a good pool is refused: %v %v", errs, err)
	}
	errs, err = pools.Validate(t.Context(), pool(v1.Requirement{Key: "kubernetes.io/arch", Operator: corev1.NodeSelectorOpIn}))
	if err != nil || len(errs) != 1 || !strings.HasPrefix(errs[0].Field, "spec.template.spec.requirements[0]") {
		t.Errorf("In without values gives %v %v", errs, err)
	}
	errs, err = definitionOf(t, "EC2NodeClass").Validate(t.Context(), &awsv1.EC2NodeClassSpec{
		SubnetSelectorTerms:        []awsv1.SubnetSelectorTerm{{}},
		SecurityGroupSelectorTerms: []awsv1.SecurityGroupSelectorTerm{{Name: "nodes"}},
		AMISelectorTerms:           []awsv1.AMISelectorTerm{{Alias: "al2023@latest"}},
		InstanceProfile:            "nodes",
	})
	if err != nil || len(errs) != 1 || errs[0].Field != "spec.subnetSelectorTerms" {
		t.Errorf("an empty selector term gives %v %v", errs, err)
	}
}

func TestAttributes_NamesAttributesInPlaceOfFields(t *testing.T) {
	class := definitionOf(t, "EC2NodeClass")
	for text, want := range map[string]string{
		"imageGCHighThresholdPercent must be above imageGCLowThresholdPercent: raise it": "image_gc_high_threshold_percent must be above image_gc_low_threshold_percent: raise it",
		"set spec.amiSelectorTerms, or kmsKeyID":                                         "set ami_selector_terms, or kms_key_id",
		"write nodefs.inodesFree, al2023@latest, or noField":                             "write nodefs.inodesFree, al2023@latest, or noField",
		"tags, id or RAID0; AL2023":                                                      "tags, id or RAID0; AL2023",
	} {
		if got := class.Attributes(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestParse_RefusesWhatIsNoDefinition(t *testing.T) {
	if _, err := definition.Parse([]byte("kind: Nothing")); err == nil {
		t.Error("a document without schema is accepted")
	}
}

func definitionOf(t *testing.T, kind string) *definition.Definition {
	t.Helper()
	for _, document := range append(v1.CRDs(), awsv1.CRDs()...) {
		if strings.Contains(string(document), "kind: "+kind+"\n") {
			d, err := definition.Parse(document, awsv1.KubeletFields()...)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	t.Fatalf("no definition of %s", kind)
	return nil
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		for _, document := range append(v1.CRDs(), awsv1.CRDs()...) {
			if _, err := definition.Parse(document, awsv1.KubeletFields()...); err != nil {
				b.Fatal(err)
			}
		}
	}
}
