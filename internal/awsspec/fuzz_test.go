package awsspec_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

// What ParseProviderID accepts is what ProviderID writes.
func FuzzParseProviderID(f *testing.F) {
	for _, s := range []string{"aws:///us-west-2a/i-0123456789abcdef0", "aws:////i-1", "aws:///a/i-1\n", "gce://x/y/z", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		zone, instance, err := awsspec.ParseProviderID(text)
		if err == nil && awsspec.ProviderID(zone, instance) != text {
			t.Fatalf("%q is zone %q, instance %q", text, zone, instance)
		}
		if err != nil && zone+instance != "" {
			t.Fatalf("%q: %q, %q and %v", text, zone, instance, err)
		}
	})
}
