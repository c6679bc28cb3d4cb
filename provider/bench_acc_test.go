//go:build lab

package provider_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// timed runs the tool and gives the seconds that it took.
func (c cli) timed(b *testing.B, dir, command string, args ...string) float64 {
	b.Helper()
	began := time.Now()
	if said, err := c.run(b, dir, command, args...); err != nil {
		b.Fatalf("%s: %v: %s", command, err, said)
	}
	return time.Since(began).Seconds()
}

// source is the terraform block that names the provider.
const source = `
terraform {
  required_providers {
    karpenter = { source = "karpenterd/karpenter" }
  }
}
`

// BenchmarkQuickstart plans, applies and destroys examples/quickstart with OpenTofu, from
// nothing each time: seconds of each. The goals are 2 s of a plan, and 15 s of an apply
// besides the boot of the daemon's pod.
func BenchmarkQuickstart(b *testing.B) {
	cli, l, provider := openTofu(b), startLab(b), build(b, releaseDigest)
	dir := cli.workspace(b, provider, source+quickstart(b))
	variables, err := json.Marshal(map[string]any{
		"cluster_name": l.ClusterName, "region": l.Region,
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "terraform.tfvars.json"), variables, 0o600); err != nil {
		b.Fatal(err)
	}
	var plan, apply, again, destroy float64
	for b.Loop() {
		plan += cli.timed(b, dir, "plan", "-out=plan")
		apply += cli.timed(b, dir, "apply", "plan")
		again += cli.timed(b, dir, "plan", "-detailed-exitcode") // 2 if something is to change
		destroy += cli.timed(b, dir, "destroy", "-auto-approve")
	}
	n := float64(b.N)
	b.ReportMetric(plan/n, "plan-s")
	b.ReportMetric(apply/n, "apply-s")
	b.ReportMetric(again/n, "plan-again-s")
	b.ReportMetric(destroy/n, "destroy-s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRefresh_200NodePools plans 200 node pools that exist and are as declared: seconds
// of the plan. The goal is 10 s.
func BenchmarkRefresh_200NodePools(b *testing.B) {
	cli, l, provider := openTofu(b), startLab(b), build(b, releaseDigest)
	pools := strings.Replace(fmt.Sprintf(poolBlock, "  count = 200"), `"default"`, `"pool-${count.index}"`, 1)
	dir := cli.workspace(b, provider, source+l.infrastructure()+fmt.Sprintf(daemonBlock, "")+fmt.Sprintf(classBlock, "")+pools)
	apply := cli.timed(b, dir, "apply", "-auto-approve")
	defer cli.timed(b, dir, "destroy", "-auto-approve")
	var refresh float64
	for b.Loop() {
		refresh += cli.timed(b, dir, "plan", "-detailed-exitcode")
	}
	b.ReportMetric(refresh/float64(b.N), "refresh-s")
	b.ReportMetric(apply, "apply-s")
	b.ReportMetric(0, "ns/op")
}
