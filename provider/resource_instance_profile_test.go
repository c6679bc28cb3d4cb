package provider_test

import (
	"errors"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

func TestInstanceProfile_LifeWithDriftAndImport(t *testing.T) {
	cloud := startCloud(t)
	for _, role := range []string{"blue", "green"} {
		if _, err := cloud.clients.CreateRole(t.Context(), aws.Role{Name: role, TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
			t.Fatal(err)
		}
	}
	h := configured(t, cloud.config())
	config := object{"name": "nodes", "role": "blue", "tags": object{"env": "test"}}
	profile := h.resource("karpenter_instance_profile")
	wantNoError(t, profile.apply(config))
	profile.settled(config)
	found, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes")
	if err != nil || found.Role != "blue" || found.Tags["team"] != "platform" || found.Tags["env"] != "test" {
		t.Fatalf("made %+v, %v", found, err)
	}

	t.Run("drift", func(t *testing.T) {
		meddled := found
		meddled.Role, meddled.Tags = "green", map[string]string{"team": "other", "env": "test", "theirs": "1"}
		if _, err := cloud.clients.UpdateInstanceProfile(t.Context(), found, meddled); err != nil {
			t.Fatal(err)
		}
		profile.drifted(config, "role")
		profile.drifted(config, "tags_all")
		wantNoError(t, profile.apply(config))
		profile.settled(config)
		mended, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes")
		if err != nil || mended.Role != "blue" || mended.Tags["team"] != "platform" || mended.Tags["theirs"] != "1" {
			t.Errorf("after mending %+v, %v", mended, err)
		}
	})
	t.Run("update", func(t *testing.T) {
		config = object{"name": "nodes", "role": "green"}
		wantNoError(t, profile.apply(config))
		profile.settled(config)
		updated, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes")
		if _, has := updated.Tags["env"]; err != nil || has || updated.Role != "green" {
			t.Errorf("after the update %+v, %v", updated, err)
		}
	})
	t.Run("import", func(t *testing.T) {
		config = object{"name": "nodes", "role": "green", "tags": object{"theirs": "1"}}
		wantNoError(t, profile.apply(config))
		copied, diags := h.imported("karpenter_instance_profile", "nodes")
		wantNoError(t, diags)
		if !copied.state.Equal(profile.state) {
			t.Errorf("imported %s, want %s", copied.state, profile.state)
		}
		_, diags = h.imported("karpenter_instance_profile", "a,b")
		wantError(t, diags, `form "name"`, `"a,b"`)
	})
	t.Run("conflict", func(t *testing.T) {
		wantError(t, h.resource("karpenter_instance_profile").apply(config), "another resource of this configuration", "Remove one of the two")
		_, err := cloud.clients.CreateInstanceProfile(t.Context(), aws.InstanceProfile{Name: "theirs", Role: "green"})
		must(t, err)
		theirs := object{"name": "theirs", "role": "green"} // and the provider's default tags
		wantError(t, h.resource("karpenter_instance_profile").apply(theirs), "already exists", `id = "theirs"`, "choose another name")
	})
	t.Run("replacement", func(t *testing.T) {
		p := profile.plan(object{"name": "other", "role": "green"})
		if len(p.replace) != 1 {
			t.Errorf("a new name replaces for %v", p.replace)
		}
	})
	t.Run("gone", func(t *testing.T) {
		wantNoError(t, profile.destroy())
		if _, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes"); !errors.Is(err, aws.ErrNotFound) {
			t.Errorf("it is still there: %v", err)
		}
		profile = h.resource("karpenter_instance_profile")
		wantNoError(t, profile.apply(config))
		if err := cloud.clients.DeleteInstanceProfile(t.Context(), "nodes", aws.AnyID); err != nil {
			t.Fatal(err)
		}
		wantNoError(t, profile.read())
		if !profile.state.IsNull() {
			t.Error("a profile removed behind our back is still in state")
		}
	})
}

func TestInstanceProfile_WithoutItsRoleLeavesNothing(t *testing.T) {
	cloud := startCloud(t)
	profile := configured(t, cloud.config()).resource("karpenter_instance_profile")
	config := object{"name": "nodes", "role": "absent", "timeouts": object{"create": "500ms"}}
	wantError(t, profile.apply(config), `karpenter_instance_profile "nodes"`, `role "absent"`, "not found")
	wantNothingMade(t, profile)
	if _, err := cloud.clients.GetInstanceProfile(t.Context(), "nodes"); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("the half-made profile is still there: %v", err)
	}
}
