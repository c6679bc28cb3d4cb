package provider_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// imageOf is the image that a plan deploys.
func imageOf(t *testing.T, p plan) string {
	t.Helper()
	wantNoError(t, p.problems)
	var reference string
	if err := attributeOf(t, p.value, "image_reference").As(&reference); err != nil {
		t.Fatal(err)
	}
	return reference
}

// planDaemon plans a daemon with a build of the provider.
func planDaemon(t *testing.T, h *harness, image any) plan {
	t.Helper()
	wantNoError(t, h.configure(object{"region": testRegion}))
	config := daemonConfig()
	if image != nil {
		config["image"] = image
	}
	return h.resource("karpenter_daemon").plan(config)
}

func TestDaemon_ReleaseDeploysItsImageByDigest(t *testing.T) {
	const pinned = "@" + releaseDigest
	for name, tt := range map[string]struct {
		image any
		want  string
	}{
		"by default":      {nil, "ghcr.io/karpenterd/karpenterd" + pinned},
		"from a mirror":   {object{"registry": "123456789012.dkr.ecr.us-west-2.amazonaws.com"}, "123456789012.dkr.ecr.us-west-2.amazonaws.com/karpenterd/karpenterd" + pinned},
		"under a path":    {object{"registry": "mirror.example.com:5000", "repository": "ghcr/karpenterd/karpenterd"}, "mirror.example.com:5000/ghcr/karpenterd/karpenterd" + pinned},
		"always pulled":   {object{"pull_policy": "Always"}, "ghcr.io/karpenterd/karpenterd" + pinned},
		"by tag":          {object{"tag": "1.0.0"}, "ghcr.io/karpenterd/karpenterd:1.0.0"},
		"by other digest": {object{"digest": "sha256:" + "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}, "ghcr.io/karpenterd/karpenterd@sha256:1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
		"by both":         {object{"tag": "1.0.0", "digest": releaseDigest}, "ghcr.io/karpenterd/karpenterd:1.0.0" + pinned},
	} {
		t.Run(name, func(t *testing.T) {
			if got := imageOf(t, planDaemon(t, newHarness(t), tt.image)); got != tt.want {
				t.Errorf("image %s, want %s", got, tt.want)
			}
		})
	}
}

// A build without a digest would deploy an image that exists nowhere.
func TestDaemon_BuildWithoutADigestDemandsAnImageAtPlan(t *testing.T) {
	wantError(t, planDaemon(t, newHarnessOf(t, "dev", ""), nil).problems, "image", "no image to deploy: image is not set",
		"this build of the provider (version dev) was made without the digest of an image", "use a release of the provider", "make image")
	wantError(t, planDaemon(t, newHarnessOf(t, "dev", ""), object{"registry": "mirror.example.com"}).problems, "image has neither tag nor digest")
	if got := imageOf(t, planDaemon(t, newHarnessOf(t, "dev", ""), object{"registry": "registry.example.com", "tag": "mine"})); got != "registry.example.com/karpenterd/karpenterd:mine" {
		t.Errorf("image %s", got)
	}
	wantError(t, planDaemon(t, newHarnessOf(t, "1.2.3", "sha256:"), nil).problems, "this build of the provider is broken", `digest "sha256:"`)
}

// What is known only at apply is checked then, before anything is made.
func TestDaemon_BuildWithoutADigestDemandsAnImageAtApply(t *testing.T) {
	h := newHarnessOf(t, "dev", "")
	wantNoError(t, h.configure(object{"region": testRegion, "kubernetes": object{"host": apiServer(t, 36), "token": "t"}}))
	daemon := h.resource("karpenter_daemon")
	config := daemonConfig()
	config["image"] = unknown{}
	p := daemon.plan(config)
	wantNoError(t, p.problems)
	if reference := attributeOf(t, p.value, "image_reference"); reference.IsKnown() {
		t.Errorf("image_reference is planned as %s", reference)
	}
	config["image"] = object{"registry": "mirror.example.com"}
	later := h.value(h.typeOf("karpenter_daemon"), config)
	planned := attributes(t, p.value)
	planned["image"] = attributes(t, later)["image"]
	wantError(t, daemon.change(tftypes.NewValue(p.value.Type(), planned), later, p.private), `karpenter_daemon "karpenter"`, "neither tag nor digest")
	wantNothingMade(t, daemon)
}
