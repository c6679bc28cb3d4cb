package main

import (
	"strings"
	"testing"
)

func TestInCurrency_SaysWhatDollarsMeanWhereAWSWritesOthers(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2": "", "us-gov-west-1": "", "cn-north-1": "read $ and dollars as CNY", "cn-northwest-1": "read $ and dollars as CNY", "eusc-de-east-1": "read $ and dollars as EUR",
	} {
		if got := inCurrency(region); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", region, got, want)
		}
	}
}
