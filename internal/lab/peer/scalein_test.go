//go:build lab && peer

package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/scalein"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// The measurement reads what the daemon made of the same scenario, whose bound it takes,
// writes its own beside it, and takes the flags of the scenario.
const (
	envOurs  = "SCALEIN_OURS"
	envOut   = "SCALEIN_OUT"
	envFlags = "SCALEIN_FLAGS"
)

// TestScaleIn_ByKarpenter plays the scenario of make bench-lab with Karpenter's own
// controller. It belongs to make bench-lab PEER=1.
func TestScaleIn_ByKarpenter(t *testing.T) {
	o := scalein.Default()
	var out bytes.Buffer
	o.Out, o.Progress = &out, os.Stderr
	flags := flag.NewFlagSet("scalein", flag.ContinueOnError)
	o.Flags(flags)
	if err := flags.Parse(strings.Fields(os.Getenv(envFlags))); err != nil {
		t.Fatal(err)
	}
	var ours struct {
		Bound float64
		End   struct {
			Cost, Volumes float64
			Instances     int
		}
	}
	raw, err := os.ReadFile(os.Getenv(envOurs))
	if err == nil {
		err = json.Unmarshal(raw, &ours)
	}
	if err != nil || ours.Bound <= 0 {
		t.Fatalf("%s=%q has no bound: run make bench-lab PEER=1: %v", envOurs, os.Getenv(envOurs), err)
	}
	command := must(toolchain.Self(t.Context(), os.Stderr, "./daemon/cmd/karpenterd"))(t)
	p := startPeerLab(t, o.Lab())
	class := p.nodeClass()
	p.apply(t, class)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	must(p.applier.Wait(ctx, kube.RefOf(class), kube.ConditionTrue("Ready")))(t)
	cancel()
	err = scalein.Measure(t.Context(), o, scalein.Subject{
		Name: "karpenter " + findRelease(t).version, Lab: p.Lab, Log: p.logTail, Command: command,
		Ours:  &scalein.Outcome{Cost: ours.End.Cost + ours.End.Volumes, Instances: ours.End.Instances},
		Bound: func(context.Context) (float64, error) { return ours.Bound, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv(envOut), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
