package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// priced is AWS with a Price List.
type priced struct {
	market.Cloud

	asked int
}

func (p *priced) OnDemandPrices(context.Context) (map[string]quantity.Money, error) {
	p.asked++
	return map[string]quantity.Money{}, nil
}

func TestIsolated_DoesNotAskThePriceList(t *testing.T) {
	aws := &priced{}
	got, err := isolated{aws}.OnDemandPrices(t.Context())
	if aws.asked > 0 || got != nil || !errors.Is(err, market.ErrNotAsked) || !strings.Contains(err.Error(), "--isolated-vpc ($ISOLATED_VPC)") {
		t.Errorf("asked %d times: %v, %v", aws.asked, got, err)
	}
}

func TestInCurrency_SaysWhatDollarsMeanWhereAWSWritesOthers(t *testing.T) {
	for region, want := range map[string]string{
		"us-west-2": "", "us-gov-west-1": "", "cn-north-1": "read $ and dollars as CNY", "cn-northwest-1": "read $ and dollars as CNY", "eusc-de-east-1": "read $ and dollars as EUR",
	} {
		if got := inCurrency(region); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", region, got, want)
		}
	}
}
