package legacyapi_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/legacyapi"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/world"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// bench is a Server with a world and two kinds of an API server.
type bench struct {
	*legacyapi.Server
	t                       *testing.T
	world                   *world.World
	provisioners, templates *store
	now                     time.Time
	events                  []string
	told                    map[string]int // by object and text of the Event
	revision                int
	kubernetes              int // minor version
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), revision: 100, kubernetes: 32, told: map[string]int{}}
	b.provisioners, b.templates = &store{bench: b, all: map[string]*unstructured.Unstructured{}}, &store{bench: b, all: map[string]*unstructured.Unstructured{}}
	b.restart()
	return b
}

// restart is a daemon that starts anew and lists all objects.
func (b *bench) restart() {
	b.world = world.New(nil, catalog.Market{}, func() time.Time { return b.now })
	b.Server = legacyapi.New(legacyapi.Config{World: b.world, Provisioners: b.provisioners, Templates: b.templates, Kubernetes: func() int { return b.kubernetes }, Events: b, Setting: os.Getenv})
	for _, s := range []*store{b.templates, b.provisioners} {
		for _, o := range s.all {
			b.Observe(o)
		}
	}
}

func (b *bench) Event(o runtime.Object, kind, reason, message string) {
	if of, is := o.(*corev1.ObjectReference); is {
		b.told[of.Kind+" "+of.Name+" "+reason+" "+message]++
	}
	b.events = append(b.events, kind+" "+reason+": "+message)
}

func (b *bench) sync() {
	b.t.Helper()
	if err := b.Sync(b.t.Context(), b.now); err != nil {
		b.t.Fatal(err)
	}
}

// apply creates or changes an object, and has the watch bring it.
func (b *bench) apply(s *store, kind, name string, spec map[string]any) *unstructured.Unstructured {
	o, there := s.all[name]
	if there {
		o = o.DeepCopy()
	} else {
		version := map[string]string{"Provisioner": "karpenter.sh/v1alpha5", "AWSNodeTemplate": "karpenter.k8s.aws/v1alpha1"}[kind]
		o = &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": kind}}
		o.SetName(name)
		o.SetUID(types.UID(name + "-" + kind + "-" + strconv.Itoa(b.revision)))
		o.SetCreationTimestamp(metav1.NewTime(b.now))
	}
	o.Object["spec"] = spec
	o.SetGeneration(o.GetGeneration() + 1)
	s.put(o)
	b.Observe(o)
	return o
}

func (b *bench) provisioner(name string, more map[string]any) *unstructured.Unstructured {
	spec := map[string]any{"providerRef": map[string]any{"name": "shared"}}
	maps.Copy(spec, more)
	return b.apply(b.provisioners, "Provisioner", name, spec)
}

func (b *bench) template(more map[string]any) *unstructured.Unstructured {
	selector := map[string]any{"karpenter.sh/discovery": "lab"}
	spec := map[string]any{"instanceProfile": "node", "subnetSelector": selector, "securityGroupSelector": selector}
	maps.Copy(spec, more)
	return b.apply(b.templates, "AWSNodeTemplate", "shared", spec)
}

// condition of the Provisioner as the API server has it.
func (b *bench) condition(name, kind string) v1.Condition {
	var status struct {
		Conditions []v1.Condition `json:"conditions"`
	}
	m, _, _ := unstructured.NestedMap(b.provisioners.all[name].Object, "status")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m, &status); err != nil {
		b.t.Fatal(err)
	}
	for _, c := range status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1.Condition{}
}

func (b *bench) pool(name string) *v1.NodePool {
	p, _ := b.world.NodePool(name)
	return p
}

func (b *bench) class(name string) *awsv1.EC2NodeClass {
	c, _ := b.world.EC2NodeClass(name)
	return c
}

func (b *bench) pools() legacyapi.Pools {
	return legacyapi.Pools{Server: b.Server, Cluster: nobody[*v1.NodePool]{}}
}

func (b *bench) classes() legacyapi.Classes {
	return legacyapi.Classes{Server: b.Server, Cluster: nobody[*awsv1.EC2NodeClass]{}}
}

// nobody is a cluster without objects of v1.
type nobody[T any] struct{}

func (nobody[T]) Patch(_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (none T, err error) {
	return none, apierrors.NewNotFound(schema.GroupResource{}, name)
}

func (nobody[T]) UpdateStatus(context.Context, T, metav1.UpdateOptions) (none T, err error) {
	return none, apierrors.NewNotFound(schema.GroupResource{}, "")
}

// store is one kind of the API server.
type store struct {
	bench   *bench
	all     map[string]*unstructured.Unstructured
	writes  int
	meddles int // how many status writes somebody else comes before
}

func (s *store) put(o *unstructured.Unstructured) {
	s.bench.revision++
	o.SetResourceVersion(strconv.Itoa(s.bench.revision))
	s.all[o.GetName()] = o
}

func (s *store) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if o, there := s.all[name]; there {
		return o, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
}

func (s *store) Patch(_ context.Context, name string, kind types.PatchType, data []byte, _ metav1.PatchOptions, _ ...string) (*unstructured.Unstructured, error) {
	s.writes++
	if kind == types.JSONPatchType {
		want, err := kube.ReadFinalizers(data)
		if err != nil {
			return nil, err
		}
		o := s.all[name].DeepCopy()
		o.SetFinalizers(want)
		s.put(o)
		return o, nil
	}
	var body struct {
		Metadata struct {
			UID             types.UID         `json:"uid"`
			ResourceVersion string            `json:"resourceVersion"`
			Annotations     map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, err
	}
	o := s.all[name].DeepCopy()
	if v := body.Metadata.ResourceVersion; body.Metadata.UID != o.GetUID() || v != "" && v != o.GetResourceVersion() {
		return nil, apierrors.NewConflict(schema.GroupResource{}, name, nil)
	}
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	maps.Copy(annotations, body.Metadata.Annotations)
	o.SetAnnotations(annotations)
	s.put(o)
	return o, nil
}

func (s *store) UpdateStatus(_ context.Context, o *unstructured.Unstructured, _ metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	s.writes++
	known := s.all[o.GetName()].DeepCopy()
	if s.meddles > 0 {
		s.meddles--
		s.put(known)
	}
	if o.GetResourceVersion() != known.GetResourceVersion() {
		return nil, apierrors.NewConflict(schema.GroupResource{}, o.GetName(), nil)
	}
	known.Object["status"] = runtime.DeepCopyJSONValue(o.Object["status"])
	s.put(known)
	return known, nil
}
