package provider_test

import (
	"errors"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim"
)

const spotRoleKind = "karpenter_spot_service_linked_role"

// spotRole is the account's role of EC2 Spot.
func (c *cloud) spotRole(t *testing.T) (aws.Role, error) {
	t.Helper()
	return c.clients.GetServiceLinkedRole(t.Context(), awsspec.SpotService, awsspec.SpotRoleName)
}

func TestSpotRole_IsCreatedAndStaysByDefault(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	role := h.resource(spotRoleKind)
	wantNoError(t, role.apply(object{}))
	role.settled(object{})
	made, err := cloud.spotRole(t)
	if err != nil || role.text("arn") != made.ARN || role.text("unique_id") != made.ID || role.text("name") != awsspec.SpotRoleName {
		t.Fatalf("made %+v, %v; state %s", made, err, role.state)
	}
	imported, diags := h.imported(spotRoleKind, awsspec.SpotRoleName)
	wantNoError(t, diags)
	if !imported.state.Equal(role.state) {
		t.Errorf("imported %s, want %s", imported.state, role.state)
	}
	wantNoError(t, role.destroy())
	if left, err := cloud.spotRole(t); err != nil || left.ID != made.ID {
		t.Errorf("after the destruction %+v, %v", left, err)
	}
}

func TestSpotRole_IsDeletedIfAskedFor(t *testing.T) {
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource(spotRoleKind)
	wantNoError(t, role.apply(object{}))
	config := object{"delete_on_destroy": true}
	wantNoError(t, role.apply(config))
	role.settled(config)
	wantNoError(t, role.destroy())
	if _, err := cloud.spotRole(t); !errors.Is(err, aws.ErrNotFound) {
		t.Errorf("the role is left: %v", err)
	}
}

// TestSpotRole_ThatWasThereIsAdoptedAndNeverDeleted has a role of another configuration.
func TestSpotRole_ThatWasThereIsAdoptedAndNeverDeleted(t *testing.T) {
	cloud := startCloud(t)
	theirs, err := cloud.clients.CreateServiceLinkedRole(t.Context(), awsspec.SpotService, awsspec.SpotRoleName)
	if err != nil {
		t.Fatal(err)
	}
	role := configured(t, cloud.config()).resource(spotRoleKind)
	config := object{"delete_on_destroy": true}
	wantNoError(t, role.apply(config))
	role.settled(config)
	var adopted bool
	if err := attributeOf(t, role.state, "adopted").As(&adopted); err != nil || !adopted || role.text("unique_id") != theirs.ID {
		t.Errorf("state %s, %v", role.state, err)
	}
	wantNoError(t, role.destroy())
	if left, err := cloud.spotRole(t); err != nil || left.ID != theirs.ID {
		t.Errorf("their role: %+v, %v", left, err)
	}
}

// TestSpotRole_MadeAgainBySomebodyElseIsTheirs replaces the role that the resource made.
func TestSpotRole_MadeAgainBySomebodyElseIsTheirs(t *testing.T) {
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource(spotRoleKind)
	config := object{"delete_on_destroy": true}
	wantNoError(t, role.apply(config))
	if err := cloud.clients.DeleteServiceLinkedRole(t.Context(), awsspec.SpotService, awsspec.SpotRoleName, aws.AnyID); err != nil {
		t.Fatal(err)
	}
	theirs, err := cloud.clients.CreateServiceLinkedRole(t.Context(), awsspec.SpotService, awsspec.SpotRoleName)
	if err != nil {
		t.Fatal(err)
	}
	for _, refreshed := range []bool{false, true} {
		copied := *role
		if refreshed {
			wantNoError(t, copied.read())
		}
		wantNoError(t, copied.destroy())
		if left, err := cloud.spotRole(t); err != nil || left.ID != theirs.ID {
			t.Errorf("refreshed %t: their role: %+v, %v", refreshed, left, err)
		}
	}
}

func TestSpotRole_ThatIsGoneIsMadeAgain(t *testing.T) {
	cloud := startCloud(t)
	role := configured(t, cloud.config()).resource(spotRoleKind)
	wantNoError(t, role.apply(object{}))
	if err := cloud.clients.DeleteServiceLinkedRole(t.Context(), awsspec.SpotService, awsspec.SpotRoleName, aws.AnyID); err != nil {
		t.Fatal(err)
	}
	wantNoError(t, role.read())
	if !role.state.IsNull() {
		t.Errorf("state %s", role.state)
	}
	wantNoError(t, role.apply(object{}))
	role.settled(object{})
}

func TestSpotRole_RefusedLeavesNothing(t *testing.T) {
	cloud := startCloud(t)
	h := configured(t, cloud.config())
	role := h.resource(spotRoleKind)
	cloud.Faults().Inject(awssim.Fault{Service: "iam", Action: "CreateServiceLinkedRole", Code: "AccessDenied", Status: 403, Times: 1})
	wantError(t, role.apply(object{}), spotRoleKind, "iam:CreateServiceLinkedRole", "Allow that action")
	wantNothingMade(t, role)
	_, diags := h.imported(spotRoleKind, "AWSServiceRoleForEC2Fleet")
	wantError(t, diags, "AWSServiceRoleForEC2Fleet", "import that name")
}
