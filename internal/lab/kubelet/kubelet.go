package kubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/proc"
)

// Options is what one node's stand-in is made of.
type Options struct {
	Name   string
	Config *rest.Config // as system:node:<Name> of group system:nodes
	// PodAPIServer is where pods find the API server; empty: where Config has it.
	PodAPIServer string
	Dir          string // for pods' files; logs go to Dir/logs
	InternalIP   string
	CertPEM      []byte // of the server that the API server calls, for localhost
	KeyPEM       []byte
	APIServer    string // the user that the API server is here: nobody else is answered
	Labels       map[string]string
	Annotations  map[string]string
	Taints       []corev1.Taint
	Capacity     corev1.ResourceList // allocatable as well
	Version      string              // kubelet version to report

	Images    map[string]string // image repository, without tag and digest -> local program
	Env       []string          // NAME=value for every process: where the simulated cloud answers
	Addresses *Addresses        // shared by the nodes of a laboratory
	Processes *proc.Set
	Logger    hclog.Logger
}

// Kubelet is a running stand-in.
type Kubelet struct {
	options   Options
	clients   kubernetes.Interface
	addresses *Addresses
	ctx       context.Context
	cancel    context.CancelFunc
	work      sync.WaitGroup
	server    *server

	mu   sync.Mutex
	pods map[types.UID]*pod
}

// Start registers the node and runs its pods until Close.
func Start(ctx context.Context, o Options) (*Kubelet, error) {
	clients, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("kubelet %s start: %w", o.Name, err)
	}
	if err := os.MkdirAll(filepath.Join(o.Dir, "logs"), 0o700); err != nil {
		return nil, fmt.Errorf("kubelet %s start: %w", o.Name, err)
	}
	k := &Kubelet{options: o, clients: clients, addresses: o.Addresses, pods: map[types.UID]*pod{}}
	k.ctx, k.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if k.server, err = k.serve(); err != nil {
		k.cancel()
		return nil, fmt.Errorf("kubelet %s start: %w", o.Name, err)
	}
	if err := k.start(ctx); err != nil {
		k.Close()
		return nil, err
	}
	return k, nil
}

// start registers the node and has its pods watched.
func (k *Kubelet) start(ctx context.Context) error {
	name := k.options.Name
	if _, err := k.clients.CoreV1().Nodes().Create(ctx, k.node(), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("node %s register: %w", name, err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(k.clients, 0, informers.WithTweakListOptions(func(l *metav1.ListOptions) {
		l.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", name).String()
	}))
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { k.see(obj.(*corev1.Pod)) },
		UpdateFunc: func(_, obj any) { k.see(obj.(*corev1.Pod)) },
		DeleteFunc: func(obj any) {
			if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = gone.Obj
			}
			if object, ok := obj.(*corev1.Pod); ok {
				k.forget(object)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("kubelet %s start: %w", name, err)
	}
	factory.StartWithContext(k.ctx)
	k.work.Go(func() {
		<-k.ctx.Done()
		factory.Shutdown()
	})
	return nil
}

// Close stops every process of the node and ends what is streamed; the API
// keeps the pods.
func (k *Kubelet) Close() {
	k.cancel()
	k.work.Wait()
	k.server.close()
}

func (k *Kubelet) closing() bool { return k.ctx.Err() != nil }

// node is the Node that the stand-in registers.
func (k *Kubelet) node() *corev1.Node {
	o := k.options
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: o.Name, Annotations: o.Annotations, Labels: map[string]string{
			corev1.LabelHostname: o.Name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
		}},
		Spec: corev1.NodeSpec{Taints: o.Taints},
		Status: corev1.NodeStatus{
			Capacity: o.Capacity, Allocatable: o.Capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: o.InternalIP},
				{Type: corev1.NodeHostName, Address: o.Name},
				{Type: corev1.NodeExternalDNS, Address: "localhost"}, // where it is outside the VPC: the API server goes there
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: k.server.port}},
			NodeInfo: corev1.NodeSystemInfo{
				OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: o.Version,
				OSImage: "local processes", ContainerRuntimeVersion: "process://1", MachineID: o.Name, SystemUUID: o.Name, BootID: o.Name,
			},
		},
	}
	for key, value := range o.Labels {
		n.Labels[key] = value
	}
	return n
}

// see takes note of a pod as the API shows it now.
func (k *Kubelet) see(object *corev1.Pod) {
	if slices.ContainsFunc(object.OwnerReferences, func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" }) {
		return // KWOK's
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing() {
		return
	}
	p, known := k.pods[object.UID]
	if !known {
		p = k.newPod(object)
		k.pods[object.UID] = p
	}
	if known && p.misread(object) {
		p.dirty()
	}
	if object.DeletionTimestamp != nil {
		grace := p.gracePeriod()
		if s := object.DeletionGracePeriodSeconds; s != nil {
			grace = time.Duration(*s) * time.Second
		}
		p.remove(grace)
	}
	if !known {
		k.work.Go(func() {
			p.run(k.ctx)
			k.mu.Lock()
			defer k.mu.Unlock()
			delete(k.pods, object.UID)
		})
	}
}

// forget stops a pod that is gone from the API: somebody forced it.
func (k *Kubelet) forget(object *corev1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p, ok := k.pods[object.UID]; ok {
		p.remove(0)
	}
}

// image finds the local program that stands for an image.
func (k *Kubelet) image(reference string) (string, error) {
	if path, ok := k.options.Images[Repository(reference)]; ok {
		return path, nil
	}
	known := make([]string, 0, len(k.options.Images))
	for name := range k.options.Images {
		known = append(known, name)
	}
	slices.Sort(known)
	return "", fmt.Errorf("%w: %s (it runs: %s)", errImage, reference, strings.Join(known, ", "))
}

// Repository is an image reference without tag and digest. A colon before the
// last slash belongs to the registry's port.
func Repository(reference string) string {
	reference, _, _ = strings.Cut(reference, "@")
	if colon := strings.LastIndexByte(reference, ':'); colon > strings.LastIndexByte(reference, '/') {
		reference = reference[:colon]
	}
	return reference
}

// logFile is where a container writes, across its restarts.
func (k *Kubelet) logFile(namespace, pod, container string) string {
	return filepath.Join(k.options.Dir, "logs", namespace+"_"+pod+"_"+container+".log")
}
