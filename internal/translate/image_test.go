package translate_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

func TestSuits_SaysOnlyWhatTheLabelsAndTheRequirementsTell(t *testing.T) {
	arm := awsv1.AMIRequirement{Key: label.Arch, Operator: "In", Values: []string{"arm64"}}
	amd := awsv1.AMIRequirement{Key: label.Arch, Operator: "In", Values: []string{"amd64"}}
	withGPU := awsv1.AMIRequirement{Key: awsv1.LabelInstanceGPUCount, Operator: "Exists"}
	withoutGPU := awsv1.AMIRequirement{Key: awsv1.LabelInstanceGPUCount, Operator: "DoesNotExist"}
	unreadable := awsv1.AMIRequirement{Key: label.Arch, Operator: "Near", Values: []string{"amd64"}}
	labels := label.FromMap(map[string]string{label.Arch: "amd64"})
	for name, c := range map[string]struct {
		requirements []awsv1.AMIRequirement
		all          bool // labels are known
		fits, known  bool
	}{
		"for every machine":                       {nil, false, true, true},
		"for machines like this one":              {[]awsv1.AMIRequirement{amd}, false, true, true},
		"for others":                              {[]awsv1.AMIRequirement{arm}, false, false, true},
		"for those without a label":               {[]awsv1.AMIRequirement{amd, withoutGPU}, true, true, true},
		"for those with a label":                  {[]awsv1.AMIRequirement{amd, withGPU}, true, false, true},
		"not all labels known, one must not be":   {[]awsv1.AMIRequirement{amd, withoutGPU}, false, false, false},
		"not all labels known, one must be":       {[]awsv1.AMIRequirement{withGPU, amd}, false, false, false},
		"not all labels known, and for others":    {[]awsv1.AMIRequirement{withGPU, arm}, false, false, true},
		"a requirement is unreadable":             {[]awsv1.AMIRequirement{unreadable, amd}, true, false, false},
		"one is unreadable, and it is for others": {[]awsv1.AMIRequirement{unreadable, arm}, true, false, true},
	} {
		if fits, known := translate.Suits(awsv1.AMI{ID: "ami-1", Requirements: c.requirements}, labels, c.all); fits != c.fits || known != c.known {
			t.Errorf("%s: fits %t, known %t; want %t, %t", name, fits, known, c.fits, c.known)
		}
	}
}

func TestImageFor_IsTheFirstThatIsKnownToFit(t *testing.T) {
	image := func(id, operator, arch string) awsv1.AMI {
		return awsv1.AMI{ID: id, Requirements: []awsv1.AMIRequirement{{Key: label.Arch, Operator: operator, Values: []string{arch}}}}
	}
	labels := label.FromMap(map[string]string{label.Arch: "amd64"})
	c := &awsv1.EC2NodeClass{}
	c.Status.AMIs = []awsv1.AMI{image("ami-unreadable", "Near", "amd64"), image("ami-arm64", "In", "arm64")}
	if id, ok := translate.ImageFor(c, labels); ok {
		t.Errorf("none fits: %s", id)
	}
	c.Status.AMIs = append(c.Status.AMIs, image("ami-first", "In", "amd64"), image("ami-second", "In", "amd64"))
	if id, ok := translate.ImageFor(c, labels); id != "ami-first" || !ok {
		t.Errorf("image %q, %t", id, ok)
	}
}
