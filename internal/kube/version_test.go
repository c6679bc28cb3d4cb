package kube

import "testing"

func TestCheckVersion_AcceptsTheRangeAndSaysSo(t *testing.T) {
	for v, ok := range map[[2]string]bool{
		{"1", "30"}: true, {"1", "36"}: true, {"1", "31+"}: true,
		{"1", "29"}: false, {"1", "37"}: false, {"2", "30"}: false, {"1", ""}: false, {"", ""}: false,
	} {
		if err := CheckVersion(v[0], v[1]); (err == nil) != ok {
			t.Errorf("CheckVersion(%s.%s) = %v", v[0], v[1], err)
		}
	}
}
