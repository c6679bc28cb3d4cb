//go:build lab

package demo

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// The demo checks every claim that it prints; this test runs it as a user does.
func TestDemo_FromApplyToDestroyLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
	defer cancel()
	var out bytes.Buffer
	if err := Run(ctx, Options{Out: &out, TimeFactor: 3}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, must := range []string{
		"a second plan is empty", "NodeClaims have one instance each", "before EC2 would have taken it",
		"AWS has no instance, volume, launch template, role", "CreateFleet at EC2: median",
	} {
		if !strings.Contains(out.String(), must) {
			t.Errorf("the demo does not say %q:\n%s", must, out.String())
		}
	}
}
