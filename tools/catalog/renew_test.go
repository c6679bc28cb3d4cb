package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded/facts"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func TestRenewTypes_ChangesWhatTablesSayAndNothingElse(t *testing.T) {
	known, err := publishedTables(release(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	said := facts.Types{
		Facts: []catalog.Fact{
			{Name: "t3.nano", Arch: "amd64", VCPU: 2, NetworkMbps: 5},
			{Name: "x9.large", Arch: "arm64", VCPU: 4, NetworkMbps: 7, BranchENIs: 3},
		},
		Sources: []catalog.Source{{Group: "instance types", Date: "2026-01-02", Text: "EC2 API"}, {Group: "network bandwidth", Date: "2020-01-02", Text: "an older table"}},
	}
	made, err := known.renewTypes(said.Encode())
	if err != nil {
		t.Fatal(err)
	}
	got, err := facts.DecodeTypes(made)
	if err != nil {
		t.Fatal(err)
	}
	nano, large := got.Facts[0], got.Facts[1]
	if nano.NetworkMbps != 32 || nano.VCPU != 2 || large.NetworkMbps != 7 || large.Arch != "arm64" || large.BranchENIs != 0 {
		t.Errorf("facts %+v", got.Facts)
	}
	var groups []string
	for _, s := range got.Sources {
		groups = append(groups, s.Group)
	}
	if want := []string{"instance types", "network bandwidth", "branch interfaces"}; !slices.Equal(groups, want) || got.Sources[0].Text != "EC2 API" || !strings.Contains(got.Sources[1].Text, "v9.8.7") {
		t.Errorf("sources %+v", got.Sources)
	}
}

func TestRenewMarket_KeepsWhatAWSHasSaid(t *testing.T) {
	known, m := sample()
	known.homeDate = "2026-07-06"
	m.OnDemand["m5.large"], m.Spot["m5.large"] = quantity.Money(1_000_000), []quantity.Money{500_000, 500_000, 500_000}
	offerings := catalog.Source{Group: "offerings", Date: "2026-01-02", Text: "EC2 API"}
	for name, tc := range map[string]struct {
		onDemand string // where the price is from
		spot     bool   // from EC2
		price    quantity.Money
	}{
		"tables":  {"an older table", false, 107_000_000},
		"the API": {pricingText, true, 1_000_000},
	} {
		m.SpotIsEstimate = !tc.spot
		m.Sources = []catalog.Source{offerings, {Group: "on-demand", Date: "2026-01-02", Text: tc.onDemand}, {Group: "spot", Date: "2026-01-02", Text: "spot's"}}
		made, err := known.renewMarket("eu-west-1", facts.EncodeMarket(*m))
		if err != nil {
			t.Fatal(err)
		}
		got, err := facts.DecodeMarket("eu-west-1", made)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Sources) != 3 || got.Sources[0] != offerings || (got.Sources[1].Text == tc.onDemand) != tc.spot || (got.Sources[2].Text == "spot's") != tc.spot {
			t.Errorf("%s: sources %+v", name, got.Sources)
		}
		if got.OnDemand["m5.large"] != tc.price || (got.Spot["m5.large"][0] == 500_000) != tc.spot || len(got.Offered) != len(m.Offered) {
			t.Errorf("%s: on demand %v, spot %v", name, got.OnDemand, got.Spot)
		}
	}
}

func TestRewrite_NamesTheFileThatItCannotRead(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "types.tsv")
	if err := os.WriteFile(file, []byte("x9.large\tarm64\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	known, _ := sample()
	if err := rewrite(folder, "types", known.renewTypes); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("err = %v", err)
	}
}
