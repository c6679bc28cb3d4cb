package awssim

import (
	"testing"
	"time"
)

func TestFaults_WaitingLetsAnotherHit(t *testing.T) {
	var f Faults
	f.Inject(Fault{Service: "ec2", Latency: time.Second})
	f.Inject(Fault{Latency: time.Second, LatencyMost: 2 * time.Second})
	remove := f.Inject(Fault{Action: "CreateFleet", Code: "InternalError"})
	hit, ok := f.take("ec2", "CreateFleet")
	if !ok || hit.Code != "InternalError" || hit.Latency < 2*time.Second || hit.Latency > 3*time.Second {
		t.Errorf("hit is %+v, want the error after both waits", hit)
	}
	remove()
	if hit, ok := f.take("ec2", "CreateFleet"); !ok || hit.Code != "" {
		t.Errorf("hit is %+v after the error was taken away", hit)
	}
	f.Clear()
	if hit, ok := f.take("ec2", "CreateFleet"); ok {
		t.Errorf("hit is %+v after all were cleared", hit)
	}
}

func TestFaults_ShareHitsSomeCallsOnly(t *testing.T) {
	var f Faults
	f.Inject(Fault{Code: "InternalError", Share: 0.5})
	hits := 0
	for range 1000 {
		if _, ok := f.take("ec2", "CreateFleet"); ok {
			hits++
		}
	}
	if hits < 350 || hits > 650 {
		t.Errorf("%d of 1000 calls are hit, want about half", hits)
	}
}
