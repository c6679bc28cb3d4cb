package bench

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Large draws 20 to 30 Deployments of pods that fill a node in small numbers, as
// fleets for machine learning have them: 4 to 96 CPUs and 2 to 16 GiB for each, both
// with equal chances for every doubling, and replicas from a lognormal distribution
// (mu 2.5, sigma 1.3) scaled so that they are the given number of pods in all.
func Large(seed uint64, pods int64) []Deployment {
	rng := rand.New(rand.NewPCG(seed, 0x1a_26e)) //nolint:gosec // G404: demand for a benchmark, which has to be the same for equal seeds
	between := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	out := make([]Deployment, 20+rng.IntN(11))
	replicas, total := make([]float64, len(out)), 0.0
	for i := range out {
		cpus := int64(math.Round(between(4, 96)))
		out[i] = Deployment{Name: fmt.Sprintf("d%d", i), MilliCPU: 1000 * cpus, MiB: int64(between(2, 16)*float64(cpus)*4) * 256, Count: 1}
		replicas[i] = math.Exp(2.5 + 1.3*rng.NormFloat64())
		total += replicas[i]
	}
	share(out, replicas, total, pods-int64(len(out)))
	return out
}

// AnyType is the published setting without its limits on families and sizes: every
// amd64 type on demand, in three zones.
func AnyType() (Setting, error) {
	s, err := Published(0)
	s.Terms = []Term{{label.Arch, label.In, []string{"amd64"}}, {label.CapacityType, label.In, []string{label.OnDemand}}}
	return s, err
}
