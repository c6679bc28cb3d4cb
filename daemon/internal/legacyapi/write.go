package legacyapi

import (
	"context"
	"encoding/json"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// attempts is how often a status is written anew after a conflict: the Provisioner has
// several parts of its status, and each has its own writer.
const attempts = 5

// statusClass is the field of a Provisioner's status that has the status of its
// EC2NodeClass in memory.
const statusClass = "nodeClass"

// writer writes v1 objects of one kind.
type writer[T any] interface {
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (T, error)
	UpdateStatus(ctx context.Context, object T, o metav1.UpdateOptions) (T, error)
}

// Pools writes NodePools: those of the cluster there, those in memory to their Provisioners.
type Pools struct {
	Server  *Server
	Cluster writer[*v1.NodePool]
}

// Patch takes annotations and the daemon's finalizer, which are all that is patched.
func (p Pools) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*v1.NodePool, error) {
	if pool, _ := p.Server.inMemory(name); pool == nil {
		return p.Cluster.Patch(ctx, name, kind, data, o, subresources...)
	}
	if err := p.Server.patch(ctx, name, kind, data, v1.FinalizerTermination); err != nil {
		return nil, err
	}
	pool, _ := p.Server.inMemory(name)
	return there(pool, wire.ResourceProvisioner, name)
}

// UpdateStatus writes the status.
func (p Pools) UpdateStatus(ctx context.Context, pool *v1.NodePool, o metav1.UpdateOptions) (*v1.NodePool, error) {
	if known, _ := p.Server.inMemory(pool.Name); known == nil || !translate.FromProvisioner(pool) {
		return p.Cluster.UpdateStatus(ctx, pool, o)
	}
	status, err := plain(&pool.Status)
	if err != nil {
		return nil, err
	}
	err = p.Server.writeStatus(ctx, pool.Name, func(now map[string]any) error {
		own := conditionsIn(now)
		for key, value := range status {
			now[key] = value
		}
		return keepConditions(now, own)
	})
	if err != nil {
		return nil, err
	}
	written, _ := p.Server.inMemory(pool.Name)
	return there(written, wire.ResourceProvisioner, pool.Name)
}

// Classes does the same for EC2NodeClasses.
type Classes struct {
	Server  *Server
	Cluster writer[*awsv1.EC2NodeClass]
}

// Patch takes annotations and the daemon's finalizer, which are all that is patched.
func (c Classes) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*awsv1.EC2NodeClass, error) {
	if _, class := c.Server.inMemory(name); class == nil {
		return c.Cluster.Patch(ctx, name, kind, data, o, subresources...)
	}
	if err := c.Server.patch(ctx, name, kind, data, awsv1.FinalizerTermination); err != nil {
		return nil, err
	}
	_, class := c.Server.inMemory(name)
	return there(class, wire.ResourceProvisioner, name)
}

// UpdateStatus writes the status, into a field of the Provisioner's.
func (c Classes) UpdateStatus(ctx context.Context, class *awsv1.EC2NodeClass, o metav1.UpdateOptions) (*awsv1.EC2NodeClass, error) {
	if _, known := c.Server.inMemory(class.Name); known == nil || !translate.FromTemplate(class) {
		return c.Cluster.UpdateStatus(ctx, class, o)
	}
	status, err := plain(&class.Status)
	if err != nil {
		return nil, err
	}
	err = c.Server.writeStatus(ctx, class.Name, func(now map[string]any) error {
		now[statusClass] = status
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, written := c.Server.inMemory(class.Name)
	return there(written, wire.ResourceProvisioner, class.Name)
}

// there is the object, or an error that says that it is deleted.
func there[T any](object *T, resource, name string) (*T, error) {
	if object == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: wire.CoreGroup, Resource: resource}, name)
	}
	return object, nil
}

// inMemory returns the objects that are in memory for the Provisioner; nil for none.
func (s *Server) inMemory(name string) (*v1.NodePool, *awsv1.EC2NodeClass) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is := s.served[name]; is != nil {
		return is.pool, is.class
	}
	return nil, nil
}

// Serves says whether the NodePool is in memory, made of a Provisioner.
func (s *Server) Serves(pool string) bool {
	p, _ := s.inMemory(pool)
	return p != nil
}

// newestOf is the newest known version of the Provisioner, nil for none.
func (s *Server) newestOf(name string) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.provisioners[name]
}

// patch carries a patch of an object in memory to its Provisioner: a merge patch of the
// annotations, or a JSON patch of the finalizers. The Provisioner has the finalizers of
// several objects, so that only the one is put on or taken off.
func (s *Server) patch(ctx context.Context, name string, kind types.PatchType, data []byte, finalizer string) error {
	p := s.newestOf(name)
	if p == nil {
		_, err := there[int](nil, wire.ResourceProvisioner, name)
		return err
	}
	write := s.annotate
	if kind == types.JSONPatchType {
		write = func(ctx context.Context, p *unstructured.Unstructured, data []byte) (*unstructured.Unstructured, error) {
			return s.hold(ctx, p, data, finalizer)
		}
	}
	got, err := write(ctx, p, data)
	if err != nil {
		return wrap(err, "provisioner %s patch", name)
	}
	s.Observe(got)
	return nil
}

// annotate takes the annotations of a merge patch over.
func (s *Server) annotate(ctx context.Context, p *unstructured.Unstructured, data []byte) (*unstructured.Unstructured, error) {
	var asked struct {
		Metadata struct {
			Annotations map[string]any `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(data, &asked); err != nil {
		return nil, wrap(err, "patch read")
	}
	meta := map[string]any{}
	if asked.Metadata.Annotations != nil {
		meta["annotations"] = asked.Metadata.Annotations
	}
	return s.Provisioners.Patch(ctx, p.GetName(), types.MergePatchType, translate.PatchOf(p, meta).JSON(), metav1.PatchOptions{FieldManager: translate.FieldManager})
}

// hold puts the finalizer on the Provisioner, or takes it off, as the JSON patch does with
// the object in memory.
func (s *Server) hold(ctx context.Context, p *unstructured.Unstructured, data []byte, finalizer string) (*unstructured.Unstructured, error) {
	want, err := kube.ReadFinalizers(data)
	if err != nil {
		return nil, err
	}
	rest := kube.FinalizersWithout(p, finalizer)
	if slices.Contains(want, finalizer) {
		rest = append(rest, finalizer)
	}
	return kube.SetFinalizers(ctx, s.Provisioners, p, rest, metav1.PatchOptions{FieldManager: translate.FieldManager})
}

// writeStatus changes the status of the Provisioner. After a conflict it reads the object
// and changes that.
func (s *Server) writeStatus(ctx context.Context, name string, change func(status map[string]any) error) error {
	p := s.newestOf(name)
	if p == nil {
		_, err := there[int](nil, wire.ResourceProvisioner, name)
		return err
	}
	got, err := write(ctx, s.Provisioners, p, change)
	if err != nil {
		return wrap(err, "provisioner %s status write", name)
	}
	s.Observe(got)
	return nil
}

func write(ctx context.Context, client Client, newest *unstructured.Unstructured, change func(status map[string]any) error) (got *unstructured.Unstructured, err error) {
	for range attempts {
		want := newest.DeepCopy()
		status, _, err := unstructured.NestedMap(want.Object, "status")
		if err != nil || status == nil {
			status = map[string]any{} // what somebody else wrote there is no status
		}
		if err := change(status); err != nil {
			return nil, err
		}
		want.Object["status"] = status
		got, err = client.UpdateStatus(ctx, want, metav1.UpdateOptions{FieldManager: translate.FieldManager})
		if err == nil || !apierrors.IsConflict(err) {
			return got, err
		}
		uid := newest.GetUID()
		if newest, err = client.Get(ctx, newest.GetName(), metav1.GetOptions{}); err != nil {
			return nil, err
		}
		if newest.GetUID() != uid {
			return nil, apierrors.NewNotFound(schema.GroupResource{Group: wire.CoreGroup, Resource: wire.ResourceProvisioner}, newest.GetName())
		}
	}
	return got, err
}

// plain is an object as JSON has it.
func plain(object any) (map[string]any, error) {
	out, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	return out, wrap(err, "status write")
}
