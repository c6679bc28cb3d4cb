package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tableFiles are what a release publishes, in small, by file.
func tableFiles() map[string]string {
	return map[string]string{
		"pricing/zz_generated.pricing_aws.go":        "// generated at 2026-07-06T14:20:29Z for us-east-1\nvar x = map[string]map[ec2types.InstanceType]float64{\n\t// us-east-1\n\t\"us-east-1\": {\n\t\t// g5 family\n\t\t\"g5.xlarge\": 1.006000, \"p3.2xlarge\": 3.060000,\n\t},\n}\n",
		"pricing/zz_generated.pricing_aws_us_gov.go": "// generated at 2026-08-24T13:29:56Z for us-east-1\nvar x = map[string]map[ec2types.InstanceType]float64{\n\t\"us-gov-east-1\": {\n\t\t\"c5.large\": 0.102000, \"u-6tb1.metal\": 65.500000,\n\t},\n\t\"us-gov-west-1\": {\n\t\t\"c5.large\": 0.104000, \"q1.large\": 0.000000,\n\t},\n}\n",
		"pricing/zz_generated.pricing_aws_cn.go":     "// generated at 2024-11-06T01:00:11Z for cn-north-1\nvar x = map[string]map[ec2types.InstanceType]float64{\n\t\"cn-north-1\": {\n\t\t\"c5.large\": 0.739000,\n\t},\n}\n",
		"instancetype/zz_generated.bandwidth.go":     "var (\n\tInstanceTypeBandwidthMegabits = map[string]int64{\n\t\t// c1.medium has vague bandwidth information, bandwidth is Moderate\n\t\t\"t3.nano\":              32,\n\t\t\"u-6tb1.metal\":         100000,\n\t}\n)\n",
	}
}

// release writes the tables as the module cache has them; changed replaces files.
func release(t *testing.T, changed map[string]string) karpenter {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "karpenter-provider-aws@v9.8.7")
	files := tableFiles()
	for name, text := range changed {
		files[name] = text
	}
	for name, text := range files {
		file := filepath.Join(folder, "pkg", "providers", filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k, err := findKarpenter(folder)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestElsewhere_IsWhatTheTablesSay(t *testing.T) {
	to := t.TempDir()
	prices, err := release(t, nil).elsewhere()
	if err != nil {
		t.Fatal(err)
	}
	if err := writeElsewhere(prices, to); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(to, "prices.tsv"))
	want := "source\ton-demand\t-\tkarpenter-provider-aws v9.8.7, on-demand tables, in the currency of the region\n" +
		"region\tcn-north-1\t2024-11-06\nregion\tus-gov-east-1\t2026-08-24\nregion\tus-gov-west-1\t2026-08-24\n" +
		"type\tcn-north-1\tus-gov-east-1\tus-gov-west-1\nc5.large\t0.739\t0.102\t0.104\nu-6tb1.metal\t-\t65.5\t-\n"
	if err != nil || string(got) != want {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
}

func TestTables_AreReadAsTheReleasePublishesThem(t *testing.T) {
	got, err := publishedTables(release(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	if got.homeDate != "2026-07-06" || len(got.home) != 2 || got.home["g5.xlarge"] != 1.006 || got.home["p3.2xlarge"] != 3.06 {
		t.Errorf("home prices of %s: %v", got.homeDate, got.home)
	}
	if len(got.bandwidth) != 2 || got.bandwidth["t3.nano"] != 32 || got.bandwidth["u-6tb1.metal"] != 100000 {
		t.Errorf("bandwidth %v", got.bandwidth)
	}
	var texts []string
	for _, s := range got.sources() {
		texts = append(texts, s.Group+" "+s.Date+" "+s.Text)
	}
	if want := "network bandwidth 2026-07-06 karpenter-provider-aws v9.8.7, table"; !strings.Contains(strings.Join(texts, "\n"), want) {
		t.Errorf("sources %q, want %q among them", texts, want)
	}
}

func TestTables_OfAnotherShapeAreRefused(t *testing.T) {
	const home, china, bandwidth = "pricing/zz_generated.pricing_aws.go", "pricing/zz_generated.pricing_aws_cn.go", "instancetype/zz_generated.bandwidth.go"
	const begin = "// generated at 2024-11-06T01:00:11Z\nvar x = map[string]map[ec2types.InstanceType]float64{\n"
	for name, of := range map[string]struct{ file, text string }{
		"no date":                  {home, "\t\"us-east-1\": {\n\t\t\"c5.large\": 0.1,\n"},
		"no table":                 {china, "// generated at 2024-11-06T01:00:11Z\n\t\t\"c5.large\": 0.1,\n"},
		"a price without region":   {china, begin + "\t\t\"c5.large\": 0.1,\n}\n"},
		"another region's opening": {china, begin + "\t\"cn-north-1\": {\n\t\t\"c5.large\": 0.1,\n\t},\n\t\"cn-northwest-1\": { // new\n\t\t\"c5.large\": 0.2,\n\t},\n}\n"},
		"a region without prices":  {china, begin + "\t\"cn-north-1\": {\n\t},\n}\n"},
		"two prices of a type":     {china, begin + "\t\"cn-north-1\": {\n\t\t\"c5.large\": 0.1, \"c5.large\": 0.2,\n\t},\n}\n"},
		"a price in other digits":  {china, begin + "\t\"cn-north-1\": {\n\t\t\"c5.large\": 1e+02,\n\t},\n}\n"},
		"no home region":           {home, begin + "\t\"us-east-2\": {\n\t\t\"c5.large\": 0.1,\n\t},\n}\n"},
		"no bandwidths":            {bandwidth, "var InstanceTypeBandwidthMegabits = x\n"},
		"a bandwidth in words":     {bandwidth, "var (\n\t\t\"t3.nano\": 32,\n\t\t\"t3.micro\": low,\n)\n"},
	} {
		k := release(t, map[string]string{of.file: of.text})
		_, tables := publishedTables(k)
		_, elsewhere := k.elsewhere()
		if err := errors.Join(tables, elsewhere); !errors.Is(err, errTable) {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

func TestParse_NeedsTheFolderOfARelease(t *testing.T) {
	for _, folder := range []string{"", "/src/karpenter-provider-aws", "/src/x@v1.2.3", "/src/karpenter-provider-aws@v1.2.3/pkg"} {
		if _, err := parse([]string{"-karpenter", folder}); !errors.Is(err, errKarpenter) {
			t.Errorf("%q: err = %v", folder, err)
		}
	}
	o, err := parse([]string{"-karpenter", "/mod/karpenter-provider-aws@v1.2.3/", "-renew"})
	if err != nil || o.karpenter.name() != "karpenter-provider-aws v1.2.3" || !o.renew {
		t.Errorf("%+v, %v", o, err)
	}
}
