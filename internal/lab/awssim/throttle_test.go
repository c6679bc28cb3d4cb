package awssim

import (
	"testing"
	"time"
)

func TestThrottle_RefusesCallsBeyondTheDocumentedBuckets(t *testing.T) {
	var limits throttle
	now := time.Unix(1000, 0)
	refused := func(service, action string, calls int) (n int) {
		for range calls {
			if limits.take(service, action, now) != nil {
				n++
			}
		}
		return n
	}
	if n := refused("ec2", "DescribeInstances", 500); n > 0 {
		t.Errorf("%d calls are refused by default", n)
	}
	c := &Cloud{}
	c.Throttle(true)
	limits.on, limits.buckets = c.throttle.on, c.throttle.buckets
	for action, size := range map[string]int{"DescribeInstances": 100, "CreateFleet": 50, "TerminateInstances": 100, "CreateTags": 100, "RunInstances": 5} {
		if n := refused("ec2", action, size+7); n != 7 {
			t.Errorf("%s: %d of %d calls are refused at once", action, n, size+7)
		}
	}
	if n := refused("iam", "GetRole", 500); n > 0 {
		t.Errorf("%d calls to IAM are refused", n)
	}
	now = now.Add(2 * time.Second)
	for action, refill := range map[string]int{"DescribeInstances": 40, "CreateFleet": 10, "TerminateInstances": 10, "CreateTags": 20, "RunInstances": 4} {
		if n := refused("ec2", action, refill+3); n != 3 {
			t.Errorf("%s: %d of %d calls are refused two seconds later", action, n, refill+3)
		}
	}
}
