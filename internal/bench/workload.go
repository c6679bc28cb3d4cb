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
