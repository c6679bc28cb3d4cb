package interruption

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const stamp = "2026-01-02T03:04:05Z"

func message(source, detailType, detail string) string {
	return fmt.Sprintf(`{"version":"0","id":"x","detail-type":%q,"source":%q,"account":"123456789012","time":%q,"region":"us-west-2","resources":[],"detail":%s}`,
		detailType, source, stamp, detail)
}

func TestParse_ReadsEveryKindOfEvent(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	soon := at.Add(2 * time.Minute)
	state := func(s string) string {
		return message("aws.ec2", "EC2 Instance State-change Notification", `{"instance-id":"i-1","state":"`+s+`"}`)
	}
	health := func(service, category, start string) string {
		return message("aws.health", "AWS Health Event", fmt.Sprintf(
			`{"service":%q,"eventTypeCategory":%q,"startTime":%q,"affectedEntities":[{"entityValue":"i-1"},{"entityValue":"i-2"}]}`, service, category, start))
	}
	tests := []struct {
		name, body string
		want       []Event
		err        error
	}{
		{
			name: "spot warning",
			body: message("aws.ec2", "EC2 Spot Instance Interruption Warning", `{"instance-id":"i-1","instance-action":"terminate"}`),
			want: []Event{{SpotInterrupted, "i-1", at, soon}},
		},
		{
			name: "capacity reservation warning",
			body: message("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", `{"instance-id":"i-1"}`),
			want: []Event{{CapacityReservationInterrupted, "i-1", at, soon}},
		},
		{
			name: "rebalance recommendation has no deadline",
			body: message("aws.ec2", "EC2 Instance Rebalance Recommendation", `{"instance-id":"i-1"}`),
			want: []Event{{RebalanceRecommendation, "i-1", at, time.Time{}}},
		},
		{name: "stopping", body: state("stopping"), want: []Event{{InstanceStopped, "i-1", at, at}}},
		{name: "stopped", body: state("stopped"), want: []Event{{InstanceStopped, "i-1", at, at}}},
		{name: "shutting down, in capitals", body: state("Shutting-Down"), want: []Event{{InstanceTerminated, "i-1", at, at}}},
		{name: "terminated", body: state("terminated"), want: []Event{{InstanceTerminated, "i-1", at, at}}},
		{name: "an instance that starts is not interrupted", body: state("running")},
		{
			name: "scheduled change of two instances, at its time",
			body: health("EC2", "scheduledChange", "Fri, 02 Jan 2026 05:00:00 GMT"),
			want: []Event{
				{ScheduledChange, "i-1", at, time.Date(2026, 1, 2, 5, 0, 0, 0, time.UTC)},
				{ScheduledChange, "i-2", at, time.Date(2026, 1, 2, 5, 0, 0, 0, time.UTC)},
			},
		},
		{name: "scheduled change without a time is now", body: health("EC2", "scheduledChange", ""), want: []Event{{ScheduledChange, "i-1", at, at}, {ScheduledChange, "i-2", at, at}}},
		{name: "health event of another service", body: health("RDS", "scheduledChange", "")},
		{name: "health event that announces nothing", body: health("EC2", "accountNotification", "")},
		{name: "another source", body: message("aws.s3", "Object Created", `{}`), err: ErrUnknown},
		{name: "another kind", body: message("aws.ec2", "EBS Volume Notification", `{}`), err: ErrUnknown},
		{name: "not JSON", body: "hello", err: ErrMalformed},
		{name: "a detail that is not an object", body: message("aws.ec2", "EC2 Spot Instance Interruption Warning", `7`), err: ErrMalformed},
		{name: "no instance", body: message("aws.ec2", "EC2 Spot Instance Interruption Warning", `{}`), err: ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.body, Notice)
			if !errors.Is(err, tt.err) || (err != nil) != (tt.err != nil) {
				t.Fatalf("got error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.Transformer("utc", func(at time.Time) string { return at.UTC().String() })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse_DeadlineOfAWarningIsAfterTheNotice(t *testing.T) {
	body := `{"source":"aws.ec2","detail-type":"EC2 Spot Instance Interruption Warning","time":"2026-01-01T00:00:00Z","detail":{"instance-id":"i-1"}}`
	got, err := Parse(body, 20*time.Second)
	if err != nil || len(got) != 1 || got[0].Deadline.Sub(got[0].Time) != 20*time.Second {
		t.Errorf("%+v, %v", got, err)
	}
}
