package pick

import "testing"

func TestDistance_CountsBytesToAddDropOrChange(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"zone", "zone", 0}, {"zone", "", 4}, {"", "zone", 4}, {"zone", "zoen", 2}, {"zone", "zones", 1}, {"kitten", "sitting", 3}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
