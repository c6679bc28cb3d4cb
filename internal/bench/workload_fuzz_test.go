package bench

import (
	"strings"
	"testing"
)

// The reader of workloads never panics, and gives no row that is not a number of
// pods of a size.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"d0,100,256,3\n", "a\n", "a,1\nb,2\n", "a,1,2\n", "a,1,2,3,4\n", "\"", "a,-1,2,3\n", "a,9223372036854775808,1,1\n", "", "a,1,2,3\n\n,,,\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := read(strings.NewReader(text))
		if err != nil {
			if list != nil {
				t.Fatalf("%q: %+v and %v", text, list, err)
			}
			return
		}
		for _, d := range list {
			if d.MilliCPU < 0 || d.MiB < 0 || d.Count < 0 {
				t.Fatalf("%q: %+v", text, d)
			}
		}
	})
}
