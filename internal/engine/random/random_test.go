package random_test

import (
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/random"
)

// The numbers are those of the published generator.
func TestAt_IsSplitmix64(t *testing.T) {
	for n, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := random.At(1234567, uint64(n)+1); got != want {
			t.Errorf("number %d: %d, want %d", n+1, got, want)
		}
	}
}
