package lab

import (
	"testing"
	"time"
)

func TestOptions_InstancesTakeTheirTimeUnlessToldOtherwise(t *testing.T) {
	o := Options{}.withDefaults()
	if o.StartTime < 2*time.Second || o.StopTime < 10*time.Second {
		t.Errorf("instances run after %s and are gone after %s; on EC2 both take seconds", o.StartTime, o.StopTime)
	}
	o = Options{StartTime: AtOnce, StopTime: AtOnce}.withDefaults()
	if o.StartTime > 0 || o.StopTime > 0 {
		t.Errorf("instances run after %s and are gone after %s, want at once", o.StartTime, o.StopTime)
	}
}
