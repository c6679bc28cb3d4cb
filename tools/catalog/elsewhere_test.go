package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestElsewhere_IsWhatTheTablesSay(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(from, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("zz_generated.pricing_aws_us_gov.go", "// generated at 2026-08-24T13:29:56Z for us-east-1\nvar x = y{\n\t\"us-gov-east-1\": {\n\t\t\"c5.large\": 0.102000, \"u-6tb1.metal\": 65.500000,\n\t},\n\t\"us-gov-west-1\": {\n\t\t\"c5.large\": 0.104000, \"q1.large\": 0.000000,\n\t},\n}\n")
	write("zz_generated.pricing_aws_cn.go", "// generated at 2024-11-06T01:00:11Z for cn-north-1\nvar x = y{\n\t\"cn-north-1\": {\n\t\t\"c5.large\": 0.739000,\n\t},\n}\n")
	if err := writeElsewhere(from, "tables", to); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(to, "prices.tsv"))
	want := "source\ton-demand\t-\ttables\nregion\tcn-north-1\t2024-11-06\nregion\tus-gov-east-1\t2026-08-24\nregion\tus-gov-west-1\t2026-08-24\n" +
		"type\tcn-north-1\tus-gov-east-1\tus-gov-west-1\nc5.large\t0.739\t0.102\t0.104\nu-6tb1.metal\t-\t65.5\t-\n"
	if err != nil || string(got) != want {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
	write("zz_generated.pricing_aws_cn.go", "var x = y{}\n")
	if err := writeElsewhere(from, "tables", to); !errors.Is(err, errTable) {
		t.Errorf("a table without a date: %v", err)
	}
}
