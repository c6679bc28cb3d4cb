package main

import (
	"strings"
	"testing"
)

func TestGiveBack_RefusesFlagsThatMeanNothing(t *testing.T) {
	for want, args := range map[string][]string{
		"--wait is -1m0s: give a time such as 5m, or 0 for none": {"--wait=-1m"},
		`unexpected argument "now"`:                              {"now"},
	} {
		_, _, err := invoke(t.Context(), "", append([]string{"handback"}, args...)...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}
