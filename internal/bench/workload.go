package bench

import (
	"cmp"
	"embed"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Deployment is a number of equal pods.
type Deployment struct {
	Name     string
	MilliCPU int64
	MiB      int64
	Count    int64
	GPUs     int64
}

// files are demand with known results of the peer: w1_300x10k.csv, an ordinary
// mix of microservices, and w4_kbench10k.csv, the sizes of Karpenter's own
// benchmark. Rows are name, milli-CPU, MiB and count.
//
//go:embed testdata/*.csv
var files embed.FS

// File reads one of the files in testdata.
func File(name string) ([]Deployment, error) {
	f, err := files.Open("testdata/" + name)
	if err != nil {
		return nil, fmt.Errorf("workload open: %w", err)
	}
	defer func() { _ = f.Close() }()
	out, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("workload read %s: %w", name, err)
	}
	return out, nil
}

// read reads rows of name, milli-CPU, MiB and count; the numbers must not be
// negative.
func read(from io.Reader) ([]Deployment, error) {
	r := csv.NewReader(from)
	r.FieldsPerRecord = 4
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("rows: %w", err)
	}
	out := make([]Deployment, len(rows))
	for i, row := range rows {
		out[i].Name = row[0]
		for j, field := range []*int64{&out[i].MilliCPU, &out[i].MiB, &out[i].Count} {
			n, err := strconv.ParseUint(row[j+1], 10, 63)
			if err != nil {
				return nil, fmt.Errorf("row %d: %w", i+1, err)
			}
			*field = int64(n)
		}
	}
	return out, nil
}

// The sizes of w1_300x10k.csv and of a like file five times as large: CPU
// requests in millicores with how many Deployments of 1,100 ask for them, and
// the GiB asked for per CPU at each twentieth of the Deployments.
var (
	cpuSizes = [...]struct{ milli, weight int }{ //nolint:gochecknoglobals // a constant table
		{50, 99},
		{100, 135},
		{200, 105},
		{250, 164},
		{500, 174},
		{750, 51},
		{1000, 140},
		{1500, 40},
		{2000, 92},
		{3000, 32},
		{4000, 34},
		{6000, 9},
		{8000, 18},
		{15000, 7},
	}
	gibPerCPU = [...]float64{ //nolint:gochecknoglobals // a constant table
		0.38, 0.88, 1.12, 1.69, 1.88, 2.09, 2.28, 2.62, 3.25, 3.38, 3.62, 3.88, 4.17, 4.5, 5.2, 6.4, 7.16, 8.12, 9, 10.81, 14.12,
	}
)

// Shaped draws Deployments of the shape of w1_300x10k.csv: sizes as there, and
// replicas from a lognormal distribution (mu 2.5, sigma 1.3) scaled so that they
// are the given number of pods in all, at least one each.
func Shaped(seed uint64, deployments int, pods int64) []Deployment {
	rng := rand.New(rand.NewPCG(seed, 0x77_31)) //nolint:gosec // G404: demand for a benchmark, which has to be the same for equal seeds
	out := make([]Deployment, deployments)
	replicas := make([]float64, deployments)
	total := 0.0
	for i := range out {
		cpu := int64(cpuSizes[pickSize(rng)].milli)
		at := rng.Float64() * float64(len(gibPerCPU)-1)
		low := int(at)
		ratio := gibPerCPU[low] + (at-float64(low))*(gibPerCPU[low+1]-gibPerCPU[low])
		mib := int64(ratio*1024*float64(cpu)/1000/32) * 32
		out[i] = Deployment{Name: fmt.Sprintf("d%d", i), MilliCPU: cpu, MiB: max(64, mib), Count: 1}
		replicas[i] = math.Exp(2.5 + 1.3*rng.NormFloat64())
		total += replicas[i]
	}
	share(out, replicas, total, pods-int64(deployments))
	return out
}

// Big draws Deployments of up to 20 pods of 9 to 15 CPUs each, with 0.5 to 7 GiB
// for each CPU: two or three fill a node of 32.
func Big(seed uint64, deployments int) []Deployment {
	rng := rand.New(rand.NewPCG(seed, 0xb16)) //nolint:gosec // G404: demand for a benchmark, which has to be the same for equal seeds
	out := make([]Deployment, deployments)
	for i := range out {
		cpu := 9000 + 250*rng.Int64N(25)
		out[i] = Deployment{Name: fmt.Sprintf("d%d", i), MilliCPU: cpu, MiB: cpu * (512 + rng.Int64N(6656)) / 1000, Count: 1 + rng.Int64N(20)}
	}
	return out
}

// Pareto draws Deployments of sizes with a heavy tail: CPUs by a bounded Pareto
// distribution (alpha 1.1, from 20 millicores to 24 CPUs), memory lognormal whatever
// the CPUs (median 600 MiB, sigma 1.5, from 16 MiB to 96 GiB), and 1 to 60 replicas,
// each number as likely.
func Pareto(seed uint64, deployments int) []Deployment {
	const alpha, least, most = 1.1, 20.0, 24_000.0
	return drawn(seed, 0x9a7e70, deployments, func(rng *rand.Rand) Deployment {
		u := rng.Float64() * (1 - math.Pow(least/most, alpha))
		mib := 600 * math.Exp(1.5*rng.NormFloat64())
		return Deployment{MilliCPU: int64(least / math.Pow(1-u, 1/alpha)), MiB: int64(min(max(mib, 16), 96<<10)), Count: 1 + rng.Int64N(60)}
	})
}

// Uniform draws Deployments whose sizes are all as likely, on no grid: from 10
// millicores to 4 CPUs, from 16 MiB to 16 GiB whatever the CPUs, and 1 to 60
// replicas.
func Uniform(seed uint64, deployments int) []Deployment {
	return drawn(seed, 0x0417, deployments, func(rng *rand.Rand) Deployment {
		return Deployment{MilliCPU: 10 + rng.Int64N(3991), MiB: 16 + rng.Int64N(16<<10-15), Count: 1 + rng.Int64N(60)}
	})
}

// WithGPUs draws Deployments of up to 8 pods that ask for 1, 2, 4 or 8 GPUs, fewer
// more often, with 3 to 7 CPUs and 8 to 31 GiB for each.
func WithGPUs(seed uint64, deployments int) []Deployment {
	return drawn(seed, 0x69b5, deployments, func(rng *rand.Rand) Deployment {
		n := []int64{1, 1, 1, 1, 2, 2, 4, 8}[rng.IntN(8)]
		return Deployment{MilliCPU: n * (3000 + 500*rng.Int64N(9)), MiB: n * (8 + rng.Int64N(24)) << 10, Count: 1 + rng.Int64N(8), GPUs: n}
	})
}

// drawn names what one draws so many times.
func drawn(seed, stream uint64, deployments int, one func(*rand.Rand) Deployment) []Deployment {
	rng := rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // G404: demand for a benchmark, which has to be the same for equal seeds
	out := make([]Deployment, deployments)
	for i := range out {
		out[i] = one(rng)
		out[i].Name = fmt.Sprintf("d%d", i)
		if out[i].GPUs > 0 {
			out[i].Name = fmt.Sprintf("gpu%d", i)
		}
	}
	return out
}

func pickSize(rng *rand.Rand) int {
	sum := 0
	for _, s := range cpuSizes {
		sum += s.weight
	}
	n := rng.IntN(sum)
	for i, s := range cpuSizes {
		if n -= s.weight; n < 0 {
			return i
		}
	}
	return len(cpuSizes) - 1
}

// share adds the pods to the Deployments by weight; what rounding leaves goes to
// those with the largest fraction.
func share(to []Deployment, weights []float64, total float64, pods int64) {
	order := make([]int, len(to))
	fraction := make([]float64, len(to))
	rest := pods
	for i := range to {
		exact := weights[i] / total * float64(max(0, pods))
		n := int64(exact)
		order[i], fraction[i] = i, exact-float64(n)
		to[i].Count += n
		rest -= n
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(fraction[b], fraction[a]) })
	for _, i := range order[:min(len(order), int(max(0, rest)))] {
		to[i].Count++
	}
}
