package ec2sim

import "slices"

type statusEvent struct {
	Code        string `xml:"code"`
	Description string `xml:"description"`
	ID          string `xml:"instanceEventId"`
	NotBefore   string `xml:"notBefore"`
}

type statusItem struct {
	Zone   string           `xml:"availabilityZone"`
	ZoneID string           `xml:"availabilityZoneId"`
	Events set[statusEvent] `xml:"eventsSet"`
	ID     string           `xml:"instanceId"`
	State  stateItem        `xml:"instanceState"`
	Status statusSummary    `xml:"instanceStatus"`
	System statusSummary    `xml:"systemStatus"`
}

type statusSummary struct {
	Details set[statusDetail] `xml:"details"`
	Status  string            `xml:"status"`
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

type statusAnswer struct {
	Statuses  set[statusItem] `xml:"instanceStatusSet"`
	NextToken string          `xml:"nextToken,omitempty"`
}

// status is ok for every running instance: machines here do not fail their
// status checks; events are what ScheduleEvent announced.
func (i *instance) status() string {
	if i.State == StateRunning {
		return "ok"
	}
	return "not-applicable"
}

func describeInstanceStatus(c *call, in *describeInstanceStatusRequest) (any, error) {
	found, err := c.s.findInstances(in.IDs)
	if err != nil {
		return nil, err
	}
	if !in.All {
		found = slices.DeleteFunc(found, func(i *instance) bool { return i.State != StateRunning })
	}
	page, next, err := statusView(c.s.instanceView().key).list(c, in.listing, found)
	if err != nil {
		return nil, err
	}
	out := statusAnswer{NextToken: next}
	for _, i := range page {
		item := statusItem{Zone: i.Zone, ZoneID: i.ZoneID, Events: i.events, ID: i.ID, State: stateItem{i.State.code(), i.State}}
		item.Status.Status, item.System.Status = i.status(), i.status()
		if i.State == StateRunning {
			passed := set[statusDetail]{{"reachability", "passed"}}
			item.Status.Details, item.System.Details = passed, passed
		}
		out.Statuses = append(out.Statuses, item)
	}
	return out, nil
}

func statusView(key func(*instance) string) view[*instance] {
	status := func(i *instance) []string { return one(i.status()) }
	ofEvents := func(get func(statusEvent) string) func(*instance) []string {
		return func(i *instance) []string {
			var out []string
			for _, e := range i.events {
				out = append(out, get(e))
			}
			return out
		}
	}
	return view[*instance]{
		key: key,
		fields: map[string]func(*instance) []string{
			"availability-zone":       func(i *instance) []string { return one(i.Zone) },
			"availability-zone-id":    func(i *instance) []string { return one(i.ZoneID) },
			"event.code":              ofEvents(func(e statusEvent) string { return e.Code }),
			"event.instance-event-id": ofEvents(func(e statusEvent) string { return e.ID }),
			"event.not-before":        ofEvents(func(e statusEvent) string { return e.NotBefore }),
			"instance-state-code":     func(i *instance) []string { return oneInt(int64(i.State.code())) },
			"instance-state-name":     func(i *instance) []string { return one(string(i.State)) },
			"instance-status.status":  status,
			"system-status.status":    status,
		},
		minPage: 5, maxPage: 1000,
	}
}
