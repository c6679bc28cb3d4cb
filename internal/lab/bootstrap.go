package lab

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/controlplane"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/kubelet"
)

// The managed node group that the cluster has from the beginning.
const (
	bootstrapGroup = "bootstrap"
	bootstrapType  = "m5.large"
)

// bootstrapNames are the nodes of the bootstrap node group.
func bootstrapNames() []string { return []string{"bootstrap-1", "bootstrap-2"} }

// startBootstrapNodes starts the node group that a cluster has before anything
// provisions for it. It has no instances in EC2: nothing may ever act on them.
func (l *Lab) startBootstrapNodes(ctx context.Context) error {
	version, err := l.Admin.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("version read: %w", err)
	}
	images := maps.Clone(l.options.Images)
	if images == nil {
		images = map[string]string{}
	}
	if l.options.DaemonBinary != "" {
		images[kubelet.Repository(install.ReleaseImage("0").String())] = l.options.DaemonBinary
	}
	addresses := kubelet.NewAddresses()
	for i, name := range bootstrapNames() {
		config, err := l.plane.Client("system:node:"+name, "system:nodes")
		if err != nil {
			return err
		}
		serving, err := l.plane.Server("system:node:" + name)
		if err != nil {
			return err
		}
		zone := l.options.Zones[i%len(l.options.Zones)]
		k, err := kubelet.Start(ctx, kubelet.Options{
			Name: name, Config: config, PodAPIServer: "https://" + l.network.Addr, Dir: l.Dir, Version: version.GitVersion,
			CertPEM: serving.Cert, KeyPEM: serving.Key, APIServer: controlplane.KubeletClient,
			InternalIP:  fmt.Sprintf("10.0.192.%d", 11+i), // the part of the VPC that no subnet has
			Annotations: nodeAnnotations(),
			Labels: map[string]string{
				"eks.amazonaws.com/nodegroup": bootstrapGroup, "eks.amazonaws.com/capacityType": "ON_DEMAND",
				corev1.LabelInstanceTypeStable: bootstrapType, corev1.LabelTopologyZone: zone, corev1.LabelTopologyRegion: l.Region,
			},
			Taints: []corev1.Taint{{Key: "CriticalAddonsOnly", Value: "true", Effect: corev1.TaintEffectNoSchedule}},
			Capacity: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("8Gi"),
				corev1.ResourcePods: resource.MustParse("29"), corev1.ResourceEphemeralStorage: resource.MustParse("20Gi"),
			},
			Images: images, Env: l.podEnv(), Addresses: addresses, Processes: l.Processes, Logger: l.logger("kubelet"),
		})
		if err != nil {
			return err
		}
		l.kubelets = append(l.kubelets, k)
	}
	return nil
}
