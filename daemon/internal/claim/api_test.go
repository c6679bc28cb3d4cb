package claim

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/family"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

const (
	claimsPath = "/apis/karpenter.sh/v1/nodeclaims/"
	nodesPath  = "/api/v1/nodes/"
)

// server is an API server with its live objects, and a world of its own: what the
// watches have brought. Answers to writes come to the world, as from the real one.
type server struct {
	World
	Recorder

	controller *Controller
	now        time.Time

	claims map[string]*v1.NodeClaim // the world's
	nodes  []*corev1.Node           // the world's
	pods   []*corev1.Pod            // the world's
	class  *awsv1.EC2NodeClass      // the world's
	free   map[string]int64         // the world's: addresses, by subnet
	asked  time.Time                // when EC2 was asked for them

	mu     sync.Mutex
	live   map[string]map[string]any // by path
	writes []string                  // "METHOD path", in order
	// conflicts is how many writes of each "METHOD path" are refused as conflicts, beside those
	// of an outdated version.
	conflicts map[string]int
	denied    string // "METHOD path" that a webhook denies
	deniedAs  int    // the status code of that; 0 is 400
}

func (s *server) FreeAddresses(subnet string) (int64, time.Time, bool) {
	free, known := s.free[subnet]
	return free, s.asked, known
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{now: time.Unix(10_000, 0), claims: map[string]*v1.NodeClaim{}, live: map[string]map[string]any{}, conflicts: map[string]int{}}
	http := httptest.NewServer(s)
	t.Cleanup(http.Close)
	clients, err := kube.NewClients(&rest.Config{Host: http.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	s.controller = &Controller{
		Core: clients.Core, Claims: clients.NodeClaims, World: s, Recorder: s, Logger: hclog.NewNullLogger(), Now: func() time.Time { return s.now },
		Cluster: func() family.Cluster { return family.Cluster{} },
	}
	return s
}

// put makes the object live, and nothing else.
func (s *server) put(t *testing.T, o metav1.Object) {
	t.Helper()
	path, kind, group := claimsPath, "NodeClaim", "karpenter.sh/v1"
	if _, node := o.(*corev1.Node); node {
		path, kind, group = nodesPath, "Node", "v1"
	}
	data, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	object := map[string]any{}
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	object["kind"], object["apiVersion"] = kind, group
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[path+o.GetName()] = object
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	path := strings.TrimSuffix(r.URL.Path, "/status")
	object, there := s.live[path]
	if r.Method != http.MethodGet {
		s.writes = append(s.writes, r.Method+" "+r.URL.Path)
	}
	body, _ := io.ReadAll(r.Body)
	sent := map[string]any{}
	_ = json.Unmarshal(body, &sent)
	switch {
	case path+"/" == claimsPath && r.Method == http.MethodGet:
		object = map[string]any{"kind": "NodeClaimList", "apiVersion": "karpenter.sh/v1", "items": s.listed()}
	case r.Method+" "+r.URL.Path == s.denied:
		w.WriteHeader(cmp.Or(s.deniedAs, http.StatusBadRequest))
		object = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "admission webhook denied the request", "code": cmp.Or(s.deniedAs, http.StatusBadRequest)}
	case !there:
		w.WriteHeader(http.StatusNotFound)
		object = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": http.StatusNotFound}
	case s.outdated(object, sent) || r.Method == http.MethodDelete && !meets(object, body) || s.conflicts[r.Method+" "+r.URL.Path] > 0:
		s.conflicts[r.Method+" "+r.URL.Path]--
		w.WriteHeader(http.StatusConflict)
		object = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": http.StatusConflict}
	case r.Method == http.MethodDelete:
		merge(object, map[string]any{"metadata": map[string]any{"deletionTimestamp": "2001-01-01T00:00:00Z", "resourceVersion": versionAfter(object)}})
	case r.Header.Get("Content-Type") == string(types.JSONPatchType):
		want, err := kube.ReadFinalizers(body)
		if err != nil {
			panic(err)
		}
		merge(object, map[string]any{"metadata": map[string]any{"finalizers": listOf(want)}})
	case r.Method == http.MethodPatch:
		merge(object, sent)
	case r.Method == http.MethodPut:
		object["status"] = sent["status"]
	}
	if meta, _ := object["metadata"].(map[string]any); meta["deletionTimestamp"] != nil && held(meta) == 0 {
		delete(s.live, path)
	}
	_ = json.NewEncoder(w).Encode(object)
}

// listed are the live NodeClaims.
func (s *server) listed() []any {
	out := []any{}
	for path, o := range s.live {
		if strings.HasPrefix(path, claimsPath) {
			out = append(out, o)
		}
	}
	return out
}

// outdated says whether what is sent names another version than that of the object.
func (s *server) outdated(object, sent map[string]any) bool {
	version := func(o map[string]any) any {
		meta, _ := o["metadata"].(map[string]any)
		return meta["resourceVersion"]
	}
	named := version(sent)
	return named != nil && named != "" && named != version(object)
}

// meets says whether the object is the one, and of the version, that a deletion names.
func meets(object map[string]any, body []byte) bool {
	options := &metav1.DeleteOptions{}
	if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, options); err != nil {
		_ = json.Unmarshal(body, options)
	}
	meta, _ := object["metadata"].(map[string]any)
	if options.Preconditions == nil || meta == nil {
		return true
	}
	is := func(field, want string) bool {
		has, _ := meta[field].(string)
		return has == want
	}
	only := options.Preconditions
	return (only.UID == nil || is("uid", string(*only.UID))) && (only.ResourceVersion == nil || is("resourceVersion", *only.ResourceVersion))
}

// versionAfter is the version after that of the object; nothing where it has none.
func versionAfter(object map[string]any) any {
	meta, _ := object["metadata"].(map[string]any)
	text, _ := meta["resourceVersion"].(string)
	version, err := strconv.Atoi(text)
	if err != nil {
		return nil
	}
	return strconv.Itoa(version + 1)
}

func listOf(texts []string) []any {
	out := make([]any, len(texts))
	for i, t := range texts {
		out[i] = t
	}
	return out
}

// held returns how many finalizers the object has.
func held(meta map[string]any) int {
	finalizers, _ := meta["finalizers"].([]any)
	return len(finalizers)
}

// merge is a JSON merge patch.
func merge(into, patch map[string]any) {
	for k, v := range patch {
		inner, nested := v.(map[string]any)
		old, was := into[k].(map[string]any)
		switch {
		case v == nil:
			delete(into, k)
		case nested && was:
			merge(old, inner)
		default:
			into[k] = v
		}
	}
}

func (s *server) wrote(request string) bool { return slices.Contains(s.writes, request) }

func (s *server) Observe(o metav1.Object) {
	switch o := o.(type) {
	case *v1.NodeClaim:
		s.claims[o.Name] = o
	case *corev1.Node:
		s.nodes = append(slices.DeleteFunc(s.nodes, func(n *corev1.Node) bool { return n.Name == o.Name }), o)
	}
}

func (s *server) Forget(o metav1.Object) {
	switch o := o.(type) {
	case *v1.NodeClaim:
		delete(s.claims, o.Name)
	case *corev1.Node:
		s.nodes = slices.DeleteFunc(s.nodes, func(n *corev1.Node) bool { return n.Name == o.Name })
	}
}

func (s *server) NodeClaim(name string) (*v1.NodeClaim, bool) {
	c, ok := s.claims[name]
	return c, ok
}

func (s *server) NodeOf(providerID string) (*corev1.Node, bool) {
	for _, n := range s.nodes {
		if n.Spec.ProviderID == providerID {
			return n, true
		}
	}
	return nil, false
}

func (s *server) NodesOf(providerID string) (out []*corev1.Node) {
	for _, n := range s.nodes {
		if n.Spec.ProviderID == providerID {
			out = append(out, n)
		}
	}
	return out
}

func (s *server) EC2NodeClass(string) (*awsv1.EC2NodeClass, bool) { return s.class, s.class != nil }

func (s *server) NodeClaims() (out []*v1.NodeClaim) {
	for _, c := range s.claims {
		out = append(out, c)
	}
	return out
}

func (s *server) Nodes() []*corev1.Node { return slices.Clone(s.nodes) }

func (s *server) Launched(*v1.NodeClaim, string, string, string, string) {}
func (s *server) Initialized(*v1.NodeClaim, string)                      {}
func (s *server) LaunchFailed(*v1.NodeClaim, error)                      {}
func (s *server) LaunchesFail(*v1.NodeClaim, string, string, time.Time)  {}
func (s *server) Terminated(*v1.NodeClaim, string)                       {}

func (s *server) PodsOn(node string) []*corev1.Pod {
	return pick.Those(s.pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == "" || p.Spec.NodeName == node })
}

func (s *server) NodePool(string) (*v1.NodePool, bool)           { return nil, false }
func (s *server) BudgetsOf(*corev1.Pod) []cluster.PodBudget      { return nil }
func (s *server) AttachedTo(string, []*corev1.Pod) []string      { return nil }
func (s *server) Draining(*v1.NodeClaim, string, string, string) {}

// registered is a NodeClaim with its instance and its node.
func registered() (*v1.NodeClaim, *corev1.Node) {
	c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "c", Finalizers: []string{v1.FinalizerTermination}}}
	c.Status.ProviderID, c.Status.NodeName = "aws:///a/i-1", "n"
	for _, is := range []string{v1.ConditionLaunched, v1.ConditionRegistered, v1.ConditionInitialized} {
		c.Conditions().SetTrue(is, time.Unix(1000, 0))
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n", Finalizers: []string{v1.FinalizerTermination}}}
	n.Spec.ProviderID = c.Status.ProviderID
	n.OwnerReferences = []metav1.OwnerReference{{APIVersion: "karpenter.sh/v1", Kind: v1.NodeClaimKind, Name: c.Name, UID: c.UID}}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return c, n
}
