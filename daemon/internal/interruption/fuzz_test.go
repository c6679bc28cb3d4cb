package interruption

import (
	"errors"
	"testing"
)

// Parse never panics. Its error is ErrMalformed or ErrUnknown, not both. Each event
// has a kind and an instance, and no deadline before its time.
func FuzzParse(f *testing.F) {
	f.Add(message("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-1"}`))
	f.Add(message("aws.ec2", "EC2 Instance State-change Notification", `{"instance-id":"i-1","state":"Stopping"}`))
	f.Add(message("aws.ec2", "EC2 Instance Rebalance Recommendation", `null`))
	f.Add(message("aws.health", "AWS Health Event",
		`{"service":"EC2","eventTypeCategory":"scheduledChange","startTime":"Thu, 27 Jan 0001 00:00:00 GMT","affectedEntities":[{"entityValue":"i-1"},{}]}`))
	f.Add(`{"detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2","detail":[]}`)
	f.Add(`{"detail-type":"EC2 Spot Instance Interruption Warning","source":"aws.ec2"}`)
	f.Add(`[]`)
	f.Add("")
	f.Fuzz(func(t *testing.T, body string) {
		events, err := Parse(body, Notice)
		if err != nil {
			if len(events) > 0 || errors.Is(err, ErrMalformed) == errors.Is(err, ErrUnknown) {
				t.Fatalf("%q: %d events and %v", body, len(events), err)
			}
			return
		}
		for _, e := range events {
			if e.InstanceID == "" || e.Kind == "" || !e.Deadline.IsZero() && e.Deadline.Before(e.Time) {
				t.Fatalf("%q: %+v", body, e)
			}
		}
	})
}
