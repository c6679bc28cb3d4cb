package lab

import (
	"slices"
	"testing"
	"time"
)

func TestOptions_InstancesTakeTheirTimeUnlessToldOtherwise(t *testing.T) {
	o := Options{}.withDefaults()
	if o.StartTime < 2*time.Second || o.StopTime < 10*time.Second {
		t.Errorf("instances run after %s and are gone after %s; on EC2 both take seconds", o.StartTime, o.StopTime)
	}
	fast := Options{TimeFactor: 6}.withDefaults()
	for name, times := range map[string][2]time.Duration{
		"pending": {o.StartTime, fast.StartTime}, "shutting down": {o.StopTime, fast.StopTime}, "booting": {o.BootDelay, fast.BootDelay},
		"silent": {o.NodeGrace, fast.NodeGrace}, "warned": {o.Shorter(spotNotice), fast.Shorter(spotNotice)},
	} {
		if times[1] != times[0]/6 {
			t.Errorf("%s takes %s, and six times as fast %s", name, times[0], times[1])
		}
	}
	o = Options{StartTime: AtOnce, StopTime: AtOnce}.withDefaults()
	if o.StartTime > 0 || o.StopTime > 0 {
		t.Errorf("instances run after %s and are gone after %s, want at once", o.StartTime, o.StopTime)
	}
}

// Tests set GOGC; what is measured sets none, and has the daemon as it is deployed.
func TestGarbage_PodsCollectAsTheLaboratoryDoesOnlyIfItIsTold(t *testing.T) {
	for _, c := range []struct {
		set  string
		want []string
	}{{"300", []string{"GOGC=300"}}, {"off", []string{"GOGC=off"}}, {"", nil}} {
		if got := garbage(func(key string) string { return map[string]string{"GOGC": c.set}[key] }); !slices.Equal(got, c.want) {
			t.Errorf("GOGC=%q: pods get %q, want %q", c.set, got, c.want)
		}
	}
}
