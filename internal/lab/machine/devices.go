package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	standin "github.com/karpenterd/terraform-provider-karpenter/internal/lab/kubelet"
)

const (
	devicePace = 300 * time.Millisecond // between two looks at the machine's pods
	tokenAge   = 5 * time.Minute        // EKS takes a token for 15 minutes
)

// plugins are the device plugins that report devices here: the repository of a
// container's image, and the resources that the plugin reports.
func plugins() map[string][]corev1.ResourceName {
	return map[string][]corev1.ResourceName{
		"nvcr.io/nvidia/k8s-device-plugin":           {"nvidia.com/gpu"},
		"public.ecr.aws/neuron/neuron-device-plugin": {"aws.amazon.com/neuron", "aws.amazon.com/neuroncore"},
	}
}

// devices is the part of a machine's kubelet that knows devices.
type devices struct {
	host     *Host
	instance Instance
	cluster  clusterDetails
	all      map[corev1.ResourceName]int64 // what is in the machine

	clients  kubernetes.Interface
	since    time.Time // of clients
	reported map[corev1.ResourceName]int64
}

// serveDevices reports the machine's devices as long as a device plugin runs on it,
// until the machine stops. It returns at once if the machine has none.
func (h *Host) serveDevices(ctx context.Context, i Instance) {
	hardware, _ := h.options.Hardware(i.Type)
	config, err := i.readUserData()
	if err != nil || len(hardware.Devices) == 0 {
		return
	}
	d := devices{host: h, instance: i, cluster: config.Spec.Cluster, all: hardware.Devices, reported: map[corev1.ResourceName]int64{}}
	for wait(ctx, devicePace) {
		if err := d.sync(ctx); err != nil && ctx.Err() == nil {
			h.options.Logger.Warn("devices not reported", "instance", i.ID, "error", err)
		}
	}
}

// sync writes what has changed into the Node's status.
func (d *devices) sync(ctx context.Context) (err error) {
	if now := time.Now(); d.clients == nil || now.Sub(d.since) > tokenAge {
		if d.clients, err = d.host.clients(ctx, d.instance, d.cluster); err != nil {
			return err
		}
		d.since = now
	}
	name := d.instance.PrivateDNSName
	pods, err := d.clients.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name, ResourceVersion: "0"})
	if err != nil {
		return fmt.Errorf("pods of node %s list: %w", name, err)
	}
	found := usable(d.all, pods.Items)
	if maps.Equal(found, d.reported) {
		return nil
	}
	patch, err := deviceStatus(d.reported, found)
	if err != nil {
		return err
	}
	if _, err := d.clients.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("devices of node %s report: %w", name, err)
	}
	d.reported = found
	return nil
}

// usable are the devices of the machine that the plugins among its pods report.
func usable(all map[corev1.ResourceName]int64, pods []corev1.Pod) map[corev1.ResourceName]int64 {
	found := map[corev1.ResourceName]int64{}
	for _, p := range pods {
		if !runs(p) {
			continue
		}
		for _, c := range p.Spec.Containers {
			for _, name := range plugins()[standin.Repository(c.Image)] {
				if n := all[name]; n > 0 {
					found[name] = n
				}
			}
		}
	}
	return found
}

// runs says whether the pod is one of a DaemonSet and ready.
func runs(p corev1.Pod) bool {
	return p.DeletionTimestamp == nil &&
		slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" }) &&
		slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
}

// deviceStatus is the patch of a Node's status. Devices whose plugin is gone stay in the
// capacity, and none of them can be allocated.
func deviceStatus(before, now map[corev1.ResourceName]int64) ([]byte, error) {
	capacity, allocatable := corev1.ResourceList{}, corev1.ResourceList{}
	for name := range before {
		allocatable[name] = *resource.NewQuantity(0, resource.DecimalSI)
	}
	for name, n := range now {
		q := *resource.NewQuantity(n, resource.DecimalSI)
		capacity[name], allocatable[name] = q, q
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": capacity, "allocatable": allocatable}})
	if err != nil {
		return nil, fmt.Errorf("device status encode: %w", err)
	}
	return patch, nil
}
