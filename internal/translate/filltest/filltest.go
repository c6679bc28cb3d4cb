// Package filltest fills every field of an API object with random values, for
// tests of what Keeper keeps of objects. Each text is one of a few, so that
// objects refer to each other and rules apply. A field that a later Kubernetes
// release adds is filled as well.
//
// Invariant: the same seed gives the same object. Only tests import it.
package filltest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
)

// Filler makes objects.
type Filler struct {
	rng   *rand.Rand
	texts map[reflect.Type][]string
}

// New makes a Filler of the seed.
func New(seed uint64) *Filler {
	f := &Filler{rng: rand.New(rand.NewPCG(seed, 1)), texts: map[reflect.Type][]string{}} //nolint:gosec // tests repeat it
	for sample, texts := range map[any][]string{
		corev1.PodPhase(""):                      {"", "Pending", "Running", "Running", "Succeeded", "Failed"},
		corev1.ConditionStatus(""):               {"True", "False", "Unknown"},
		corev1.PodConditionType(""):              {"PodScheduled", "Ready", "PodResizePending", "Initialized"},
		corev1.NodeConditionType(""):             {"Ready", "MemoryPressure"},
		corev1.ResourceName(""):                  {"cpu", "memory", "nvidia.com/gpu", "ephemeral-storage"},
		corev1.NodeSelectorOperator(""):          {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "?"},
		metav1.LabelSelectorOperator(""):         {"In", "NotIn", "Exists", "DoesNotExist"},
		corev1.TolerationOperator(""):            {"", "Exists", "Equal", "Lt"},
		corev1.TaintEffect(""):                   {"", "NoSchedule", "NoExecute", "PreferNoSchedule"},
		corev1.ContainerRestartPolicy(""):        {"Always", "Never"},
		corev1.UnsatisfiableConstraintAction(""): {"DoNotSchedule", "ScheduleAnyway"},
		corev1.NodeInclusionPolicy(""):           {"Honor", "Ignore"},
		corev1.Protocol(""):                      {"", "TCP", "UDP"},
		corev1.PersistentVolumeClaimPhase(""):    {"Bound", "Pending", "Lost"},
		corev1.LimitType(""):                     {"Container", "Pod"},
		appsv1.ReplicaSetConditionType(""):       {"ReplicaFailure", "Other"},
		appsv1.PodManagementPolicyType(""):       {"", "Parallel", "OrderedReady"},
		batchv1.PodReplacementPolicy(""):         {"Failed", "TerminatingOrFailed"},
		storagev1.VolumeBindingMode(""):          {"WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate"},
		types.UID(""):                            {"uid-a", "uid-b"},
	} {
		f.texts[reflect.TypeOf(sample)] = texts
	}
	return f
}

// Fill fills what the pointer points at.
func Fill[T any](f *Filler, into *T) *T {
	f.fill(reflect.ValueOf(into).Elem(), "", 0)
	return into
}

// Object fills the object that the pointer points at, whatever its type.
func Object(f *Filler, into any) { f.fill(reflect.ValueOf(into).Elem(), "", 0) }

// Yes is true or false with equal chance.
func (f *Filler) Yes() bool { return f.rng.IntN(2) == 0 }

// deepest is where types that contain themselves end.
const deepest = 14

func (f *Filler) fill(v reflect.Value, field string, depth int) {
	if depth > deepest || f.special(v) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if f.rng.IntN(4) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), field, depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i), v.Type().Field(i).Name, depth+1)
			}
		}
	case reflect.Slice:
		for range f.rng.IntN(3) {
			item := reflect.New(v.Type().Elem()).Elem()
			f.fill(item, field, depth+1)
			v.Set(reflect.Append(v, item))
		}
	case reflect.Map:
		for range f.rng.IntN(5) {
			key, item := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, field, depth+1)
			f.fill(item, "value", depth+1)
			if v.IsNil() {
				v.Set(reflect.MakeMap(v.Type()))
			}
			v.SetMapIndex(key, item)
		}
	case reflect.String:
		v.SetString(f.text(v.Type(), field))
	case reflect.Bool:
		v.SetBool(f.Yes())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.rng.IntN(5)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.rng.IntN(5)))
	default: // the API has no others
	}
}

// special fills the types that cannot be filled field by field.
func (f *Filler) special(v reflect.Value) bool {
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(int64(1000+f.rng.IntN(3)), 0))))
	case metav1.MicroTime, metav1.Duration:
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse([]string{"0", "1", "250m", "1Gi", "3"}[f.rng.IntN(5)])))
	case json.RawMessage:
		v.Set(reflect.ValueOf(json.RawMessage(`"1h"`)))
	case metav1.FieldsV1:
		v.Set(reflect.ValueOf(*metav1.NewFieldsV1([]string{"{}", `{"f:status":{"f:nominatedNodeName":{}}}`}[f.rng.IntN(2)])))
	default:
		return false
	}
	return true
}

func (f *Filler) text(t reflect.Type, field string) string {
	texts, known := f.texts[t]
	if !known {
		texts = textsOf(field)
	}
	return texts[f.rng.IntN(len(texts))]
}

// textsOf are the texts that fields of this name get.
func textsOf(field string) []string {
	switch field {
	case "Annotations":
		return []string{
			v1.AnnotationDoNotDisrupt, v1.AnnotationDoNotEvict, corev1.PodDeletionCost, corev1.MirrorPodAnnotationKey, v1.AnnotationGang, v1.AnnotationGangSize, "volume.kubernetes.io/selected-node",
			"storageclass.kubernetes.io/is-default-class", "other",
		}
	case "value":
		return []string{"true", "a", "2", "1h"}
	case "Labels", "Key", "TopologyKey":
		return []string{"a", label.Zone, v1.LabelPodGroup, "scheduling/x", appsv1.ControllerRevisionHashLabelKey, label.Hostname}
	case "Kind":
		return []string{"ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Node", "ReplicationController"}
	case "APIVersion":
		return []string{"apps/v1", "batch/v1", "v1"}
	case "SchedulerName":
		return []string{"", corev1.DefaultSchedulerName, corev1.DefaultSchedulerName, "other"}
	case "Manager":
		return []string{"karpenterd", "kube-scheduler"}
	case "Reason":
		return []string{"Unschedulable", "Infeasible", "Other"}
	case "NominatedNodeName", "NodeName", "StorageClassName", "VolumeName":
		return []string{"", "a", "b"}
	case "PriorityClassName":
		return []string{"", "a", "system-cluster-critical"}
	case "Driver", "Provisioner":
		return []string{"ebs.csi.aws.com", "a"}
	case "Finalizers":
		return []string{batchv1.JobTrackingFinalizer, "other"}
	case "ManagedBy":
		return []string{batchv1.JobControllerName, "other"}
	case "UpdateRevision":
		return []string{"", "a"}
	}
	return []string{"a", "b", fmt.Sprint(len(field))}
}
