package legacyapi

import (
	"context"
	"fmt"
	"sync"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// World keeps the objects that the daemon decides by.
type World interface {
	Observe(object metav1.Object)
	Withdraw(object metav1.Object)
	NodePool(name string) (*v1.NodePool, bool)
	EC2NodeClass(name string) (*awsv1.EC2NodeClass, bool)
}

// Client writes objects of one legacy kind.
type Client interface {
	Get(ctx context.Context, name string, o metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error)
	UpdateStatus(ctx context.Context, object *unstructured.Unstructured, o metav1.UpdateOptions) (*unstructured.Unstructured, error)
}

// Events sends Events.
type Events interface {
	Event(object runtime.Object, kind, reason, message string)
}

// Config is what a Server works with.
type Config struct {
	World        World
	Provisioners Client
	Templates    Client
	Kubernetes   func() int // minor version, 33 of 1.33
	// Setting is what the daemon's environment says of a setting.
	Setting func(variable string) string
	Events  Events
	Logger  hclog.Logger
}

// Server is safe for use by many goroutines.
type Server struct {
	Config

	mu           sync.Mutex
	servedFor    int                                   // version of Kubernetes at the last Sync
	settings     string                                // the ConfigMap karpenter-global-settings in JSON; "" for none
	provisioners map[string]*unstructured.Unstructured // newest versions, by name
	templates    map[string]*unstructured.Unstructured
	deleted      map[string]string    // resource version at which a template was deleted
	pools        map[string]types.UID // NodePools of the cluster, by name
	classes      map[string]types.UID // EC2NodeClasses of the cluster
	served       map[string]*served   // by Provisioner
}

// New makes a Server that knows of nothing.
func New(c Config) *Server {
	return &Server{
		Config: c, provisioners: map[string]*unstructured.Unstructured{}, templates: map[string]*unstructured.Unstructured{},
		deleted: map[string]string{}, pools: map[string]types.UID{}, classes: map[string]types.UID{}, served: map[string]*served{},
	}
}

// Settings sets the ConfigMap of the settings, in JSON. Call it before the first Provisioner
// is observed: the settings are those of the daemon's start.
func (s *Server) Settings(config *corev1.ConfigMap) error {
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: config.Name, Namespace: config.Namespace}, Data: config.Data,
	})
	if err != nil {
		return wrap(err, "configmap %s read", config.Name)
	}
	text, err := textOf(&unstructured.Unstructured{Object: plain})
	if err != nil {
		return err
	}
	for _, p := range legacy.CheckSettings(text, s.Setting) {
		if s.Logger != nil {
			s.Logger.Warn("a setting of the APIs before v1 is not carried out", "problem", p.String())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = text
	return nil
}

// Observe takes an object that a watch has brought. It ignores kinds that have nothing to do
// with legacy ones. Call it for NodePools and EC2NodeClasses before the world has them.
func (s *Server) Observe(object metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := object.(type) {
	case *v1.NodePool:
		s.pools[o.Name] = o.UID
		s.serve(o.Name)
	case *awsv1.EC2NodeClass:
		s.classes[o.Name] = o.UID
		s.serve(o.Name)
	case *unstructured.Unstructured:
		s.put(o)
	}
}

// put stores the newest version of a legacy object.
func (s *Server) put(o *unstructured.Unstructured) {
	name := o.GetName()
	switch o.GetKind() {
	case wire.KindProvisioner:
		if known := s.provisioners[name]; known == nil || newer(o, known) {
			s.provisioners[name] = o
			s.serve(name)
		}
	case wire.KindAWSNodeTemplate:
		if known := s.templates[name]; known == nil || newer(o, known) {
			s.templates[name] = o
			s.serveUsers(name)
		}
	}
}

// Forget takes the deletion of an object. Call it for NodePools and EC2NodeClasses after the
// world has taken it.
func (s *Server) Forget(object metav1.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := object.(type) {
	case *v1.NodePool:
		if s.pools[o.Name] == o.UID {
			delete(s.pools, o.Name)
			s.serve(o.Name)
		}
	case *awsv1.EC2NodeClass:
		if s.classes[o.Name] == o.UID {
			delete(s.classes, o.Name)
			s.serve(o.Name)
		}
	case *unstructured.Unstructured:
		s.forget(o)
	}
}

func (s *Server) forget(o *unstructured.Unstructured) {
	name := o.GetName()
	switch o.GetKind() {
	case wire.KindProvisioner:
		if known := s.provisioners[name]; known == nil || known.GetUID() != o.GetUID() {
			return
		}
		delete(s.provisioners, name)
		if was := s.served[name]; was != nil {
			delete(s.served, name)
			s.withdraw(was)
		}
	case wire.KindAWSNodeTemplate:
		if known := s.templates[name]; known == nil || known.GetUID() != o.GetUID() {
			return
		}
		delete(s.templates, name)
		s.deleted[name] = o.GetResourceVersion()
		s.serveUsers(name)
	}
}

// serveUsers serves the Provisioners that refer to the template.
func (s *Server) serveUsers(template string) {
	for name, p := range s.provisioners {
		if legacy.TemplateOf(p.Object) == template {
			s.serve(name)
		}
	}
}

func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
