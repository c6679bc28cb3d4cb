package ec2sim

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// placementGroup is what the account never has.
type placementGroup struct{ *resource }

type placementGroupItem struct {
	ID       string   `xml:"groupId"`
	Name     string   `xml:"groupName" filter:"group-name"`
	ARN      string   `xml:"groupArn" filter:"group-arn"`
	Spread   string   `xml:"spreadLevel" filter:"spread-level"`
	State    string   `xml:"state" filter:"state"`
	Strategy string   `xml:"strategy" filter:"strategy"`
	Tags     set[tag] `xml:"tagSet" filter:""`
}

type describePlacementGroupsRequest struct {
	listing
	IDs   []string `q:"GroupId"`
	Names []string `q:"GroupName"`
}

func describePlacementGroups(c *call, in *describePlacementGroupsRequest) (any, error) {
	none, err := list[placementGroup, placementGroupItem]{set: "placementGroupSet"}.page(c, in.listing, nil)
	if named := slices.Concat(in.Names, in.IDs); err == nil && len(named) > 0 {
		err = wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", named[0])
	}
	return none, err
}
