package region_test

import (
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/region"
)

func TestCheck_UnknownRegionNamesTheNearestOne(t *testing.T) {
	for name, want := range map[string]string{
		"us-esat-1":  `"us-east-1"`,
		"eu-west1":   `"eu-west-1"`,
		"us-west-2a": `"us-west-2"`,
	} {
		err := region.Check(name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check(%q) = %v, want an error that suggests %s", name, err, want)
		}
	}
	for _, name := range []string{"ap-northeast-2", "cn-north-1", "us-gov-west-1", "us-isob-east-1", "eusc-de-east-1"} {
		if err := region.Check(name); err != nil {
			t.Errorf("a real region is refused: %v", err)
		}
	}
}
