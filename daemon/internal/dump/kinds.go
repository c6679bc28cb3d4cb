package dump

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
)

// Kind names a kind of objects.
type Kind struct{ APIVersion, Kind string }

// String is the kind as people write it.
func (k Kind) String() string {
	if k.APIVersion == "" {
		return k.Kind
	}
	return k.Kind + " (" + k.APIVersion + ")"
}

// group is the API group; "" for the core's.
func (k Kind) group() string {
	group, _, has := strings.Cut(k.APIVersion, "/")
	if !has {
		return ""
	}
	return group
}

// list says whether the kind is of Lists.
func (k Kind) list() bool { return strings.HasSuffix(k.Kind, "List") }

// of is the kind of the objects in a List of the kind; the List of kubectl says none.
func (k Kind) of() Kind {
	return Kind{k.APIVersion, strings.TrimSuffix(k.Kind, "List")}
}

// OfKarpenter says whether the kind is one of Karpenter's.
func (k Kind) OfKarpenter() bool {
	return k.group() == v1.Group || k.group() == awsv1.Group
}

// empty returns an object of the kind to read into; nil if no decision reads the kind.
func (k Kind) empty() metav1.Object {
	switch k {
	case Kind{"v1", "Pod"}:
		return &corev1.Pod{}
	case Kind{"v1", "Node"}:
		return &corev1.Node{}
	case Kind{"v1", "Namespace"}:
		return &corev1.Namespace{}
	case Kind{"v1", "LimitRange"}:
		return &corev1.LimitRange{}
	case Kind{"v1", "PersistentVolumeClaim"}:
		return &corev1.PersistentVolumeClaim{}
	case Kind{"v1", "PersistentVolume"}:
		return &corev1.PersistentVolume{}
	case Kind{"apps/v1", "Deployment"}:
		return &appsv1.Deployment{}
	case Kind{"apps/v1", "DaemonSet"}:
		return &appsv1.DaemonSet{}
	case Kind{"apps/v1", "ReplicaSet"}:
		return &appsv1.ReplicaSet{}
	case Kind{"apps/v1", "StatefulSet"}:
		return &appsv1.StatefulSet{}
	case Kind{"batch/v1", "Job"}:
		return &batchv1.Job{}
	case Kind{"storage.k8s.io/v1", "StorageClass"}:
		return &storagev1.StorageClass{}
	case Kind{"storage.k8s.io/v1", "CSINode"}:
		return &storagev1.CSINode{}
	case Kind{"storage.k8s.io/v1", "VolumeAttachment"}:
		return &storagev1.VolumeAttachment{}
	case Kind{"scheduling.k8s.io/v1", "PriorityClass"}:
		return &schedulingv1.PriorityClass{}
	case Kind{"policy/v1", "PodDisruptionBudget"}:
		return &policyv1.PodDisruptionBudget{}
	case Kind{"node.k8s.io/v1", "RuntimeClass"}:
		return &nodev1.RuntimeClass{}
	case Kind{v1.Group + "/v1", v1.NodePoolKind}:
		return &v1.NodePool{}
	case Kind{v1.Group + "/v1", v1.NodeClaimKind}:
		return &v1.NodeClaim{}
	case Kind{awsv1.Group + "/v1", awsv1.EC2NodeClassKind}:
		return &awsv1.EC2NodeClass{}
	}
	return nil
}

// Missing names the kinds that decisions read and of which nothing was found, sorted: kinds that
// most clusters have objects of, and that a dump should have.
func (f *Found) Missing() (out []string) {
	for _, k := range []Kind{
		{"v1", "Namespace"},
		{"v1", "Node"},
		{"v1", "PersistentVolume"},
		{"v1", "PersistentVolumeClaim"},
		{"v1", "Pod"},
		{"apps/v1", "DaemonSet"},
		{"apps/v1", "ReplicaSet"},
		{"policy/v1", "PodDisruptionBudget"},
		{"scheduling.k8s.io/v1", "PriorityClass"},
		{"storage.k8s.io/v1", "StorageClass"},
	} {
		if f.Kinds[k] == 0 {
			out = append(out, plural(k.Kind))
		}
	}
	slices.Sort(out)
	return out
}

func plural(kind string) string {
	if strings.HasSuffix(kind, "Class") {
		return kind + "es"
	}
	return kind + "s"
}
