package ec2sim

import (
	"slices"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

type zoneItem struct {
	GroupName   string `xml:"groupName"`
	BorderGroup string `xml:"networkBorderGroup"`
	OptInStatus string `xml:"optInStatus"`
	RegionName  string `xml:"regionName"`
	State       string `xml:"zoneState"`
	ZoneID      string `xml:"zoneId"`
	ZoneName    string `xml:"zoneName"`
	ZoneType    string `xml:"zoneType"`
}

type describeZonesRequest struct {
	listing
	All   bool     `q:"AllAvailabilityZones"` // there are no zones that one could opt into
	IDs   []string `q:"ZoneId"`
	Names []string `q:"ZoneName"`
}

type zonesAnswer struct {
	Zones set[zoneItem] `xml:"availabilityZoneInfo"`
}

func describeAvailabilityZones(c *call, in *describeZonesRequest) (any, error) {
	region := c.s.cfg.Region
	for _, name := range in.Names {
		if !slices.ContainsFunc(c.s.zones, func(z Zone) bool { return z.Name == name }) {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid availability zone: [%s]", name)
		}
	}
	for _, id := range in.IDs {
		if !slices.ContainsFunc(c.s.zones, func(z Zone) bool { return z.ID == id }) {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid availability zone-id: [%s]", id)
		}
	}
	var items []zoneItem
	for _, z := range c.s.zones {
		if len(in.Names) == 0 && len(in.IDs) == 0 || slices.Contains(in.Names, z.Name) || slices.Contains(in.IDs, z.ID) {
			items = append(items, zoneItem{region + "-zg-1", region, "opt-in-not-required", region, "available", z.ID, z.Name, "availability-zone"})
		}
	}
	page, _, err := view[zoneItem]{
		key: func(z zoneItem) string { return z.ZoneName },
		fields: map[string]func(zoneItem) []string{
			"group-name":    func(z zoneItem) []string { return one(z.GroupName) },
			"opt-in-status": func(z zoneItem) []string { return one(z.OptInStatus) },
			"region-name":   func(z zoneItem) []string { return one(z.RegionName) },
			"state":         func(z zoneItem) []string { return one(z.State) },
			"zone-id":       func(z zoneItem) []string { return one(z.ZoneID) },
			"zone-name":     func(z zoneItem) []string { return one(z.ZoneName) },
			"zone-type":     func(z zoneItem) []string { return one(z.ZoneType) },
		},
	}.list(c, in.listing, items)
	if err != nil {
		return nil, err
	}
	return zonesAnswer{page}, nil
}

type regionItem struct {
	Endpoint    string `xml:"regionEndpoint"`
	OptInStatus string `xml:"optInStatus"`
	Name        string `xml:"regionName"`
}

type describeRegionsRequest struct {
	listing
	All   bool     `q:"AllRegions"` // there is one
	Names []string `q:"RegionName"`
}

type regionsAnswer struct {
	Regions set[regionItem] `xml:"regionInfo"`
}

// describeRegions knows the one region that is simulated.
func describeRegions(c *call, in *describeRegionsRequest) (any, error) {
	region := c.s.cfg.Region
	for _, name := range in.Names {
		if name != region {
			return nil, wire.Errorf("InvalidParameterValue", "Invalid region name: %s", name)
		}
	}
	page, _, err := view[regionItem]{
		key: func(r regionItem) string { return r.Name },
		fields: map[string]func(regionItem) []string{
			"endpoint":      func(r regionItem) []string { return one(r.Endpoint) },
			"opt-in-status": func(r regionItem) []string { return one(r.OptInStatus) },
			"region-name":   func(r regionItem) []string { return one(r.Name) },
		},
	}.list(c, in.listing, []regionItem{{"ec2." + region + ".amazonaws.com", "opt-in-not-required", region}})
	if err != nil {
		return nil, err
	}
	return regionsAnswer{page}, nil
}

// nothing is what there is of kinds that the account never has.
type nothing struct{}

// listNothing checks the filters of a list that is always empty.
func (c *call) listNothing(in listing, filters ...string) error {
	v := view[nothing]{fields: map[string]func(nothing) []string{}, tags: func(nothing) map[string]string { return nil }}
	for _, name := range filters {
		v.fields[name] = func(nothing) []string { return nil }
	}
	_, _, err := v.list(c, in, nil)
	return err
}

type describePlacementGroupsRequest struct {
	listing
	IDs   []string `q:"GroupId"`
	Names []string `q:"GroupName"`
}

type placementGroupsAnswer struct {
	Groups set[nothing] `xml:"placementGroupSet"`
}

func describePlacementGroups(c *call, in *describePlacementGroupsRequest) (any, error) {
	if err := c.listNothing(in.listing, "group-name", "group-arn", "spread-level", "state", "strategy"); err != nil {
		return nil, err
	}
	for _, name := range append(in.Names, in.IDs...) {
		return nil, wire.Errorf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", name)
	}
	return placementGroupsAnswer{}, nil
}
