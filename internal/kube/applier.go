package kube

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/util/csaupgrade"
	"k8s.io/client-go/util/retry"
)

// FieldManager is the field manager of the provider and of this package. The daemon
// writes the same objects as translate.FieldManager. The two differ on purpose: Owned
// compares only what the provider applied, so a field that the daemon sets is not
// drift.
const FieldManager = "terraform-provider-karpenter"

// Ref names an object.
type Ref struct {
	schema.GroupVersionKind
	Namespace, Name string // Namespace is empty for a cluster-scoped object
}

// RefOf names obj.
func RefOf(obj *unstructured.Unstructured) Ref {
	return Ref{GroupVersionKind: obj.GroupVersionKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// String is like: NodePool "spot", Deployment "karpenter/karpenterd".
func (r Ref) String() string {
	if r.Namespace != "" {
		return fmt.Sprintf("%s %q", r.Kind, r.Namespace+"/"+r.Name)
	}
	return fmt.Sprintf("%s %q", r.Kind, r.Name)
}

// Key is the ref as one string, which can be stored and read by ParseKey. It has no
// version, because the object is the same in all versions.
func (r Ref) Key() string {
	return strings.Join([]string{r.Group, r.Kind, r.Namespace, r.Name}, "/")
}

// ParseKey reads a Key; ok is false for any other string. The ref has no version: with
// it the version that the API server prefers is used.
func ParseKey(key string) (ref Ref, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 4 {
		return Ref{}, false
	}
	kind := schema.GroupVersionKind{Group: parts[0], Kind: parts[1]}
	return Ref{GroupVersionKind: kind, Namespace: parts[2], Name: parts[3]}, true
}

// Applier declares objects by server-side apply, reads them, deletes them and
// waits for them. It is safe for concurrent use.
type Applier struct {
	client dynamic.Interface
	kinds  discovery.DiscoveryInterface
	mapper meta.ResettableRESTMapper

	// DeniedWithin is how long 401 and 403 may last in a wait; 0: the constant DeniedWithin.
	DeniedWithin time.Duration
}

// NewApplier makes an Applier. It connects only at the first use.
func NewApplier(config *rest.Config) (*Applier, error) {
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client make: %w", err)
	}
	client, err := dynamic.NewForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("kubernetes client make: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(config, withTimeout(transport, discoveryTimeout))
	if err != nil {
		return nil, fmt.Errorf("kubernetes client make: %w", err)
	}
	return &Applier{client: client, kinds: kinds, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

// discoveryTimeout is how long a question to Discovery may take where the configuration does not
// say: it has no context that would end it. It is client-go's.
const discoveryTimeout = 32 * time.Second

// withTimeout is the client, with its connections, where it has a timeout; else one with this.
func withTimeout(c *http.Client, timeout time.Duration) *http.Client {
	bounded := *c
	bounded.Timeout = cmp.Or(c.Timeout, timeout)
	return &bounded
}

// Dynamic is the client below: for lists, and for patches that are no apply.
func (a *Applier) Dynamic() dynamic.Interface { return a.client }

// Discovery asks which version and which kinds the API server has.
func (a *Applier) Discovery() discovery.DiscoveryInterface { return a.kinds }

// resource finds the API of the ref. It looks up an unknown kind once more, because the
// kind may have been installed since.
func (a *Applier) resource(ref Ref) (dynamic.ResourceInterface, error) {
	m, err := a.mapper.RESTMapping(ref.GroupKind(), ref.Version)
	if err != nil && !notServed(err) {
		// client-go leaves out what the API server has said about it.
		return nil, fmt.Errorf("discovery of the API server's kinds: %w", err)
	}
	if err != nil {
		return nil, err
	}
	if ref.Namespace != "" {
		return a.client.Resource(m.Resource).Namespace(ref.Namespace), nil
	}
	return a.client.Resource(m.Resource), nil
}

// Apply applies obj as FieldManager, and returns the object as it then is. It removes
// fields that were applied before and that obj lacks. If the kind is not served yet,
// because its CustomResourceDefinition was applied a moment ago, it tries again until
// the deadline of ctx. A *ConflictError names the fields that other managers own; with
// force Apply takes these fields over. It ends a Create that was interrupted.
func (a *Applier) Apply(ctx context.Context, obj *unstructured.Unstructured, force bool) (*unstructured.Unstructured, error) {
	ref := RefOf(obj)
	var out *unstructured.Unstructured
	err := a.whenServed(ctx, func() error {
		api, err := a.resource(ref)
		if err != nil {
			return err
		}
		if out, err = api.Apply(ctx, ref.Name, obj, metav1.ApplyOptions{FieldManager: FieldManager, Force: force}); err != nil {
			return err
		}
		if out.GetAnnotations()[createMark] == "" {
			return nil
		}
		// The mark and the fields of the Create belong to the Create: without this step, no
		// Apply would ever remove them.
		if err := a.ownByApply(ctx, ref, out); err != nil {
			return err
		}
		out, err = api.Apply(ctx, ref.Name, obj, metav1.ApplyOptions{FieldManager: FieldManager, Force: force})
		return err
	})
	return out, wrap(err, "apply", ref)
}

// Create makes obj, and owns its fields as Apply does. If an object of that name
// exists, the error is ErrExists and the object stays as it is. If the kind is not
// served yet, Create tries again as Apply does. If the object was made but a later step
// failed, the error comes with the object.
func (a *Applier) Create(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	ref := RefOf(obj)
	// If the answer to the creation gets lost, the mark tells that the object is ours.
	// The Apply below removes the mark, because obj does not have it.
	marked, mark := obj.DeepCopy(), rand.Text()
	annotations := marked.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[createMark] = mark
	marked.SetAnnotations(annotations)
	var made *unstructured.Unstructured
	err := a.whenServed(ctx, func() error {
		api, err := a.resource(ref)
		if err != nil {
			return err
		}
		made, err = api.Create(ctx, marked, metav1.CreateOptions{FieldManager: FieldManager})
		return err
	})
	if err != nil {
		live, readErr := a.afterFailure(ctx, ref)
		if readErr != nil || live.GetAnnotations()[createMark] != mark {
			return nil, wrap(err, "create", ref)
		}
		made = live
	}
	if err := a.ownByApply(ctx, ref, made); err != nil {
		return made, wrap(err, "create", ref)
	}
	sure := obj.DeepCopy()
	sure.SetUID(made.GetUID())
	live, err := a.Apply(ctx, sure, true)
	if err != nil {
		return made, err
	}
	return live, nil
}

// createMark is the annotation that a new object has until the first Apply.
const createMark = "karpenterd.sh/create"

// Unfinished tells whether a Create of the object was cut off: nobody has applied it since.
func Unfinished(obj *unstructured.Unstructured) bool { return obj.GetAnnotations()[createMark] != "" }

// afterFailure reads the object, with a deadline of its own: that of ctx may be over.
func (a *Applier) afterFailure(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnoseWithin)
	defer cancel()
	return a.Get(ctx, ref)
}

// ownByApply turns the ownership of the fields that the creation set into that of an
// Apply. Without it, a later Apply would not remove the fields that it leaves out.
func (a *Applier) ownByApply(ctx context.Context, ref Ref, obj *unstructured.Unstructured) error {
	api, err := a.resource(ref)
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(ownBackoff(), func() error {
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(obj, sets.New(FieldManager), FieldManager)
		if err != nil || patch == nil {
			return err
		}
		_, err = api.Patch(ctx, ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
		if apierrors.IsConflict(err) {
			live, readErr := api.Get(ctx, ref.Name, metav1.GetOptions{})
			if readErr != nil {
				return readErr
			}
			if live.GetUID() != obj.GetUID() {
				return ErrNotFound
			}
			obj = live
		}
		return err
	})
}

// ownBackoff allows for controllers that write to a new object at once.
func ownBackoff() wait.Backoff {
	return wait.Backoff{Steps: 10, Duration: 20 * time.Millisecond, Factor: 1.6, Jitter: 0.2}
}

// Get reads the object. Errors: ErrNotFound; ErrKindNotServed is one of them.
func (a *Applier) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	api, err := a.resource(ref)
	if err != nil {
		return nil, wrap(err, "read", ref)
	}
	obj, err := api.Get(ctx, ref.Name, metav1.GetOptions{})
	return obj, wrap(err, "read", ref)
}

// List reads the objects of a kind whose labels match the selector. An empty namespace
// means all namespaces, an empty selector all objects. Error: ErrKindNotServed.
func (a *Applier) List(ctx context.Context, kind schema.GroupVersionKind, namespace, labelSelector string) ([]unstructured.Unstructured, error) {
	return a.list(ctx, kind, namespace, metav1.ListOptions{LabelSelector: labelSelector})
}

func (a *Applier) list(ctx context.Context, kind schema.GroupVersionKind, namespace string, options metav1.ListOptions) ([]unstructured.Unstructured, error) {
	ref := Ref{GroupVersionKind: kind, Namespace: namespace}
	api, err := a.resource(ref)
	if err != nil {
		return nil, wrap(err, "list", ref)
	}
	options.Limit = 500
	var all []unstructured.Unstructured
	for {
		page, err := api.List(ctx, options)
		if err != nil {
			return nil, wrap(err, "list", ref)
		}
		all = append(all, page.Items...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return all, nil
		}
	}
}

// Delete asks for the object's deletion. An object that is gone is no error. With a uid
// it deletes only the object with that uid; another object of the same name stays, and
// that is no error.
func (a *Applier) Delete(ctx context.Context, ref Ref, uid types.UID) error {
	api, err := a.resource(ref)
	if err != nil {
		return unlessGone(wrap(err, "delete", ref))
	}
	background := metav1.DeletePropagationBackground
	options := metav1.DeleteOptions{PropagationPolicy: &background}
	if uid != "" {
		options.Preconditions = &metav1.Preconditions{UID: &uid}
	}
	err = api.Delete(ctx, ref.Name, options)
	if uid != "" && apierrors.IsConflict(err) {
		live, readErr := a.Get(ctx, ref)
		if errors.Is(readErr, ErrNotFound) || readErr == nil && live.GetUID() != uid {
			return nil
		}
	}
	return unlessGone(wrap(err, "delete", ref))
}

// whenServed repeats do while its kind is not served, until the deadline of ctx.
// Without a deadline it tries once.
func (a *Applier) whenServed(ctx context.Context, do func() error) error {
	if _, patient := ctx.Deadline(); !patient {
		return do()
	}
	var last error
	if err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(context.Context) (bool, error) {
		if last = do(); notServed(last) {
			a.mapper.Reset()
			return false, nil
		}
		return true, nil
	}); err != nil && last == nil {
		return err
	}
	return last
}
