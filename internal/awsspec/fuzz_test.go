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

// What ParseAlias accepts names a family and a version of the text.
func FuzzParseAlias(f *testing.F) {
	for _, s := range []string{"al2023@latest", "al2023@v20260115", "al2023@v", "al2@latest", "al2023@latest\n", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		alias, err := awsspec.ParseAlias(text)
		if err == nil && alias.Family+"@"+alias.Version != text {
			t.Fatalf("%q is %+v", text, alias)
		}
		if err != nil && alias != (awsspec.Alias{}) {
			t.Fatalf("%q: %+v and %v", text, alias, err)
		}
	})
}
