package ec2sim

import "slices"

type statusEvent struct {
	Code        string `xml:"code" filter:"code"`
	Description string `xml:"description"`
	ID          string `xml:"instanceEventId" filter:"instance-event-id"`
	NotBefore   string `xml:"notBefore" filter:"not-before"`
}

type statusItem struct {
	Zone   string           `xml:"availabilityZone" filter:"availability-zone"`
	ZoneID string           `xml:"availabilityZoneId" filter:"availability-zone-id"`
	Events set[statusEvent] `xml:"eventsSet" filter:"event."`
	ID     string           `xml:"instanceId"`
	State  stateItem        `xml:"instanceState" filter:"instance-state-"`
	Status statusSummary    `xml:"instanceStatus" filter:"instance-status."`
	System statusSummary    `xml:"systemStatus" filter:"system-status."`
}

type statusSummary struct {
	Details set[statusDetail] `xml:"details"`
	Status  string            `xml:"status" filter:"status"`
}

type statusDetail struct {
	Name   string `xml:"name"`
	Status string `xml:"status"`
}

type describeInstanceStatusRequest struct {
	listing
	IDs []string `q:"InstanceId"`
	All bool     `q:"IncludeAllInstances"`
}

func describeInstanceStatus(c *call, in *describeInstanceStatusRequest) (any, error) {
	found, err := c.s.findInstances(in.IDs)
	if err != nil {
		return nil, err
	}
	if !in.All {
		found = slices.DeleteFunc(found, func(i *instance) bool { return i.State != StateRunning })
	}
	return list[*instance, statusItem]{set: "instanceStatusSet", item: (*Service).statusItem, minPage: 5, maxPage: 1000}.page(c, in.listing, found)
}

// statusItem is ok for every running instance: machines here do not fail their
// status checks; events are what ScheduleEvent announced.
func (s *Service) statusItem(i *instance) statusItem {
	summary := statusSummary{Status: "not-applicable"}
	if i.State == StateRunning {
		summary = statusSummary{set[statusDetail]{{"reachability", "passed"}}, "ok"}
	}
	return statusItem{Zone: i.Zone, ZoneID: i.ZoneID, Events: i.events, ID: i.ID, State: stateItem{i.State.code(), i.State}, Status: summary, System: summary}
}
