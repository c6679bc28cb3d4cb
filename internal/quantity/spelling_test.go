package quantity

import (
	"testing"
	"time"
)

func TestSpelling_IsThatOfPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{
		720 * time.Hour: "720h", time.Hour: "1h", 90 * time.Minute: "1h30m", time.Minute: "1m", 10 * time.Minute: "10m", 30 * time.Second: "30s",
		0: "0s", time.Hour + time.Second: "1h0m1s", 100 * time.Second: "1m40s",
	} {
		if got := SpellDuration(d); got != want {
			t.Errorf("%d is %s, want %s", d, got, want)
		}
	}
	for canonical, want := range map[string]string{"1k": "1000", "500m": "500m", "1Ki": "1Ki", "20": "20", "4Gi": "4Gi"} {
		if got := SpellAmount(canonical); got != want {
			t.Errorf("%s is %s, want %s", canonical, got, want)
		}
	}
}
