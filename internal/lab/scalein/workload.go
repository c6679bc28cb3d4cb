package scalein

import (
	"bytes"
	_ "embed" // the pods
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// workload is an ordinary mix of microservices: name, milli-CPU, MiB and replicas.
//
//go:embed testdata/w1_300x1k.csv
var workload []byte

// app is a Deployment of equal pods.
type app struct {
	name          string
	milliCPU, mib int64
	replicas      int32
}

func readApps(text []byte) ([]app, error) {
	in := csv.NewReader(bytes.NewReader(text))
	in.FieldsPerRecord = 4
	rows, err := in.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("workload read: %w", err)
	}
	apps := make([]app, len(rows))
	for i, row := range rows {
		var n [3]int64
		for j := range n {
			if n[j], err = strconv.ParseInt(row[j+1], 10, 32); err != nil || n[j] < 1 {
				return nil, fmt.Errorf("workload read: row %d: %q must be a number above zero", i+1, row[j+1])
			}
		}
		apps[i] = app{row[0], n[0], n[1], int32(n[2])}
	}
	return apps, nil
}

// apps are the Deployments of the scenario.
func (o *Options) apps() ([]app, error) {
	rows, err := readApps(workload)
	if err != nil || o.Seed == 0 {
		return rows, err
	}
	return draw(rows, o.Pods, o.Seed), nil
}

// draw makes Deployments with so many pods in all: each has the size of one row and the replicas
// of another.
func draw(rows []app, pods int, seed uint64) (out []app) {
	d := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same seed gives the same fleet
	for left := pods; left > 0; {
		a := rows[d.IntN(len(rows))]
		a.name, a.replicas = fmt.Sprintf("drawn-%d", len(out)), min(rows[d.IntN(len(rows))].replicas, int32(left))
		left -= int(a.replicas)
		out = append(out, a)
	}
	return out
}

// left is how many replicas an app keeps: the share, rounded up.
func (a app) left(share float64) int32 {
	return int32(math.Ceil(float64(a.replicas)*share - 1e-9))
}

// count adds up the replicas that the apps keep.
func count(apps []app, share float64) (n int) {
	for _, a := range apps {
		n += int(a.left(share))
	}
	return n
}

func (a app) deployment(graceSeconds int64) *appsv1.Deployment {
	labels := map[string]string{"app": a.name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: a.name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &a.replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: &graceSeconds,
				Containers: []corev1.Container{{
					Name: "app", Image: "registry.k8s.io/pause:3.10",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU:    *resource.NewMilliQuantity(a.milliCPU, resource.DecimalSI),
						corev1.ResourceMemory: *resource.NewQuantity(a.mib<<20, resource.BinarySI),
					}},
				}},
			}},
		},
	}
}
