package handback

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// Where the server has its objects.
const (
	pools  = "/apis/karpenter.sh/v1/nodepools"
	claims = "/apis/karpenter.sh/v1/nodeclaims"
	nodes  = "/api/v1/nodes"
	pods   = "/api/v1/pods"

	classes = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
)

// server is an API server with these objects by path.
type server struct {
	mu        sync.Mutex
	objects   map[string]map[string]any
	writes    []string      // "METHOD path", in order
	dry       int           // writes that are to be checked only
	conflicts int           // how many writes are refused because the object has changed
	wait      time.Duration // for nodes
	listed    map[string]int
	onList    func(path string, n int) // called before the n-th list of the path
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	body, _ := io.ReadAll(r.Body)
	sent := map[string]any{}
	_ = json.Unmarshal(body, &sent)
	dry := r.URL.Query().Get("dryRun") == metav1.DryRunAll || strings.Contains(string(body), `"dryRun":["All"]`)
	at := strings.TrimSuffix(r.URL.Path, "/status")
	object, there := s.objects[at]
	refuse := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		object = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
	}
	switch {
	case r.Method == http.MethodGet && slices.Contains([]string{pools, claims, nodes, pods, classes}, r.URL.Path):
		if s.listed[r.URL.Path]++; s.onList != nil {
			s.onList(r.URL.Path, s.listed[r.URL.Path])
		}
		object = s.list(r.URL.Path)
	case !there:
		refuse(http.StatusNotFound, metav1.StatusReasonNotFound)
	case r.Method != http.MethodGet && s.conflicts > 0:
		s.conflicts--
		refuse(http.StatusConflict, metav1.StatusReasonConflict)
	case dry:
		s.dry++
	case r.Method == http.MethodDelete:
		s.writes = append(s.writes, "DELETE "+r.URL.Path)
		delete(s.objects, r.URL.Path)
	case r.Method == http.MethodPatch:
		s.writes = append(s.writes, "PATCH "+r.URL.Path)
		if want, err := kube.ReadFinalizers(body); err == nil {
			sent = map[string]any{"metadata": map[string]any{"finalizers": want}}
		}
		for field := range sent { // as an API server: a write to the one leaves the other alone
			if (field == "status") != strings.HasSuffix(r.URL.Path, "/status") && field != "metadata" {
				delete(sent, field)
			}
		}
		merge(object, sent)
	}
	_ = json.NewEncoder(w).Encode(object)
}

func (s *server) list(path string) map[string]any {
	items := []any{}
	for p, o := range s.objects {
		if strings.HasPrefix(p, path+"/") {
			items = append(items, o)
		}
	}
	kind := map[string]string{pools: "NodePoolList", claims: "NodeClaimList", nodes: "NodeList", pods: "PodList", classes: "EC2NodeClassList"}[path]
	group := "v1"
	if inGroup, there := strings.CutPrefix(path, "/apis/"); there {
		group = inGroup[:strings.LastIndex(inGroup, "/")]
	}
	return map[string]any{"kind": kind, "apiVersion": group, "items": items}
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

// put stores the object below the path.
func (s *server) put(t *testing.T, path string, o metav1.Object) {
	t.Helper()
	raw, err := json.Marshal(o)
	object := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &object)
	}
	if err != nil {
		t.Fatal(err)
	}
	list := s.list(path)
	object["kind"], object["apiVersion"] = strings.TrimSuffix(list["kind"].(string), "List"), list["apiVersion"]
	s.objects[path+"/"+o.GetName()] = object
}

// get reads the object into o, and says whether it is there.
func (s *server) get(t *testing.T, path string, o metav1.Object) bool {
	t.Helper()
	object, there := s.objects[path]
	if !there {
		return false
	}
	raw, err := json.Marshal(object)
	if err == nil {
		err = json.Unmarshal(raw, o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return true
}

var class = v1.NodeClassReference{Group: awsv1.Group, Kind: awsv1.EC2NodeClassKind, Name: "default"}

func pool(name string) *v1.NodePool {
	p := &v1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Finalizers: []string{"example.com/keep", v1.FinalizerTermination}}}
	p.Spec.Template.Spec.NodeClassRef = class
	return p
}

// claim is one that the daemon has made, and its Node.
func claim(name string) (*v1.NodeClaim, *corev1.Node) {
	c := &v1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID(name), Finalizers: []string{v1.FinalizerTermination}, Labels: map[string]string{v1.LabelNodePool: "p"},
		Annotations: map[string]string{
			v1.AnnotationNodePoolHashVersion: "karpenterd-1", v1.AnnotationPlanned: "x=1", v1.AnnotationLaunchAttempt: "1", v1.AnnotationMove: "m", "team": "a",
		},
	}}
	c.Spec.NodeClassRef, c.Spec.StartupTaints = class, []v1.Taint{v1.Taint(v1.AwaitingPodsTaint())}
	c.Status.ProviderID = "aws:///a/" + name
	c.Conditions().SetTrue(v1.ConditionRegistered, time.Unix(1000, 0))
	c.Conditions().SetTrue(v1.ConditionInitialized, time.Unix(1000, 0))
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n-" + name, Finalizers: []string{v1.FinalizerTermination}, Annotations: map[string]string{"team": "a"}}}
	n.Spec.ProviderID = c.Status.ProviderID
	return c, n
}

// cluster is a server with a NodePool, a NodeClaim and its Node, which change has altered.
func cluster(t *testing.T, change func(*v1.NodePool, *v1.NodeClaim, *corev1.Node)) *server {
	t.Helper()
	s := &server{objects: map[string]map[string]any{}, listed: map[string]int{}}
	p := pool("p")
	c, n := claim("c")
	if change != nil {
		change(p, c, n)
	}
	s.put(t, pools, p)
	s.put(t, claims, c)
	s.put(t, nodes, n)
	return s
}

func (s *server) handBack(t *testing.T, dry bool) (out string, err error) {
	t.Helper()
	web := httptest.NewServer(s)
	defer web.Close()
	clients, err := kube.NewClients(&rest.Config{Host: web.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	err = (&Handback{Clients: clients, Out: &text, DryRun: dry, Wait: s.wait, Look: time.Millisecond}).Run(t.Context())
	return text.String(), err
}

func TestRun_TakesOutWhatOnlyTheDaemonWouldRemoveAndNothingElse(t *testing.T) {
	foreign := corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	s := cluster(t, func(_ *v1.NodePool, _ *v1.NodeClaim, n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{foreign, v1.AwaitingPodsTaint(), {Key: "karpenterd.sh/goes-next", Effect: corev1.TaintEffectPreferNoSchedule}}
		n.Annotations["karpenterd.sh/x"] = "1"
	})
	s.conflicts = retry.DefaultRetry.Steps - 1
	out, err := s.handBack(t, false)
	if err != nil {
		t.Fatal(err)
	}
	var p v1.NodePool
	var c v1.NodeClaim
	var n corev1.Node
	s.get(t, pools+"/p", &p)
	s.get(t, claims+"/c", &c)
	s.get(t, nodes+"/n-c", &n)
	if !slices.Equal(p.Finalizers, []string{"example.com/keep"}) {
		t.Errorf("finalizers of the pool: %v", p.Finalizers)
	}
	if len(c.Annotations) != 2 || !slices.Equal(c.Finalizers, []string{v1.FinalizerTermination}) {
		t.Errorf("annotations %v, finalizers %v", c.Annotations, c.Finalizers)
	}
	if !slices.Equal(n.Spec.Taints, []corev1.Taint{foreign}) || len(n.Annotations) != 1 || !slices.Equal(n.Finalizers, []string{v1.FinalizerTermination}) {
		t.Errorf("taints %v, annotations %v, finalizers %v", n.Spec.Taints, n.Annotations, n.Finalizers)
	}
	for _, said := range []string{"nodepool p:", "nodeclaim c:", "node n-c:"} {
		if !strings.Contains(out, said) {
			t.Errorf("the output lacks %q:\n%s", said, out)
		}
	}
	s.writes = nil
	if out, err := s.handBack(t, false); err != nil || out != "" || len(s.writes) > 0 {
		t.Errorf("a second run: error %v, writes %v\n%s", err, s.writes, out)
	}
}

func TestRun_TheTaintOfLeavingNodesGoesOnlyWhereTheNodeStays(t *testing.T) {
	deleted := metav1.Now()
	for name, tc := range map[string]struct {
		manager string
		deleted *metav1.Time
		left    int
	}{
		"the daemon announced it": {translate.FieldManager, nil, 0},
		"somebody else tainted":   {"kubectl", nil, 1},
		"it drains":               {translate.FieldManager, &deleted, 1},
	} {
		s := cluster(t, func(_ *v1.NodePool, c *v1.NodeClaim, n *corev1.Node) {
			c.DeletionTimestamp = tc.deleted
			n.Spec.Taints = []corev1.Taint{v1.DisruptedTaint()}
			n.Labels = map[string]string{corev1.LabelNodeExcludeBalancers: "x"}
			n.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: tc.manager, FieldsV1: metav1.NewFieldsV1(
				`{"f:metadata":{"f:labels":{"f:node.kubernetes.io/exclude-from-external-load-balancers":{}}},"f:spec":{"f:taints":{}}}`)}}
		})
		if _, err := s.handBack(t, false); err != nil {
			t.Fatal(err)
		}
		var n corev1.Node
		if s.get(t, nodes+"/n-c", &n); len(n.Spec.Taints) != tc.left || len(n.Labels) != tc.left {
			t.Errorf("%s: taints %v, labels %v", name, n.Spec.Taints, n.Labels)
		}
	}
}

func TestRun_OnlyANodeClaimOfTheDaemonWithoutAnInstanceIsDeleted(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*v1.NodeClaim)
		deleted bool
	}{
		"it has an instance": {func(*v1.NodeClaim) {}, false},
		"it has none":        {func(c *v1.NodeClaim) { c.Status.ProviderID = "" }, true},
		"a user has made it": {func(c *v1.NodeClaim) {
			c.Status.ProviderID = ""
			delete(c.Annotations, v1.AnnotationNodePoolHashVersion)
		}, false},
		"Karpenter has": {func(c *v1.NodeClaim) {
			c.Status.ProviderID = ""
			c.Annotations[v1.AnnotationNodePoolHashVersion] = "v3"
		}, false},
		"it is of EKS Auto":    {func(c *v1.NodeClaim) { c.Status.ProviderID = ""; c.Spec.NodeClassRef.Group = "eks.amazonaws.com" }, false},
		"it is deleted by now": {func(c *v1.NodeClaim) { c.Status.ProviderID = ""; now := metav1.Now(); c.DeletionTimestamp = &now }, false},
	} {
		s := cluster(t, func(_ *v1.NodePool, c *v1.NodeClaim, _ *corev1.Node) { tc.change(c) })
		if _, err := s.handBack(t, false); err != nil {
			t.Fatal(err)
		}
		if _, left := s.objects[claims+"/c"]; left == tc.deleted {
			t.Errorf("%s: writes %v", name, s.writes)
		}
	}
}

// booting has the NodeClaim launched and its Node not there yet.
func booting(t *testing.T) (*server, *corev1.Node) {
	t.Helper()
	var node *corev1.Node
	s := cluster(t, func(_ *v1.NodePool, c *v1.NodeClaim, n *corev1.Node) {
		c.Status.Conditions = nil
		node = n
	})
	delete(s.objects, nodes+"/"+node.Name)
	node.Spec.Taints = []corev1.Taint{v1.AwaitingPodsTaint()}
	node.Labels = map[string]string{v1.LabelDoNotSyncTaints: v1.LabelTrue}
	return s, node
}

func TestRun_WaitsForNodesThatJoinAndTakesTheirTaintOff(t *testing.T) {
	s, node := booting(t)
	s.wait = time.Hour
	s.onList = func(path string, n int) {
		if path == nodes && n == 3 {
			s.put(t, nodes, node)
		}
	}
	out, err := s.handBack(t, false)
	if err != nil || !strings.Contains(out, "waiting up to 1h0m0s for the nodes of nodeclaims c,") || strings.Contains(out, "run this command again") {
		t.Errorf("error %v\n%s", err, out)
	}
	var n corev1.Node
	if s.get(t, nodes+"/n-c", &n); len(n.Spec.Taints) > 0 || s.listed[nodes] != 3 {
		t.Errorf("taints %v after %d lists", n.Spec.Taints, s.listed[nodes])
	}
}

func TestRun_NamesTheNodeClaimsWhoseNodesGetTheDaemonsTaintLater(t *testing.T) {
	for name, tc := range map[string]struct {
		wait   time.Duration
		dry    bool
		change func(*server, *corev1.Node)
		named  bool
	}{
		"it does not wait":          {0, false, nil, true},
		"it has waited long enough": {time.Millisecond, false, nil, true},
		"a dry run does not wait":   {time.Hour, true, nil, true},
		"the node has joined":       {time.Hour, false, func(s *server, n *corev1.Node) { s.put(t, nodes, n) }, false},
		"it has, and Karpenter writes its taints": {time.Hour, false, func(s *server, n *corev1.Node) {
			n.Labels = nil
			s.put(t, nodes, n)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, node := booting(t)
			s.wait = tc.wait
			if tc.change != nil {
				tc.change(s, node)
			}
			out, err := s.handBack(t, tc.dry)
			if named := strings.Contains(out, "nodeclaims c are launched") && strings.Contains(out, "run this command again"); err != nil || named != tc.named {
				t.Errorf("error %v\n%s", err, out)
			}
		})
	}
}

func TestRun_EndsItsWaitIfTheDaemonStartsAgain(t *testing.T) {
	s, _ := booting(t)
	s.wait = time.Hour
	s.onList = func(path string, n int) {
		if path == pods && n == 2 {
			s.put(t, pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: "karpenterd-0", Labels: install.LeaseLabels()}})
		}
	}
	if out, err := s.handBack(t, false); err == nil || !strings.Contains(err.Error(), "the daemon still runs") {
		t.Errorf("error %v\n%s", err, out)
	}
}

func TestRun_RemovesConditionsThatKarpenterDoesNotKnowAndNoOthers(t *testing.T) {
	now := time.Unix(1000, 0)
	s := cluster(t, func(p *v1.NodePool, c *v1.NodeClaim, _ *corev1.Node) {
		for _, kind := range []string{v1.ConditionDisrupting, v1.ConditionUnsupported, v1.ConditionValidationSucceeded, v1.ConditionNodeClassReady} {
			p.Conditions().SetTrue(kind, now)
		}
		c.Conditions().SetTrue(v1.ConditionDisruptionReason, now)
	})
	ec2class := &awsv1.EC2NodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	for _, kind := range []string{awsv1.ConditionLaunchPermitted, awsv1.ConditionCatalogueCurrent, v1.ConditionUnsupported, awsv1.ConditionSubnetsReady} {
		ec2class.Conditions().SetTrue(kind, now)
	}
	s.put(t, classes, ec2class)
	out, err := s.handBack(t, false)
	if err != nil {
		t.Fatal(err)
	}
	var p v1.NodePool
	var c v1.NodeClaim
	var read awsv1.EC2NodeClass
	s.get(t, pools+"/p", &p)
	s.get(t, claims+"/c", &c)
	s.get(t, classes+"/default", &read)
	kinds := func(all []v1.Condition) (out []string) {
		for _, c := range all {
			out = append(out, c.Type)
		}
		return out
	}
	if got := kinds(p.Status.Conditions); !slices.Equal(got, []string{v1.ConditionNodeClassReady, v1.ConditionValidationSucceeded, v1.ConditionReady}) {
		t.Errorf("conditions of the pool: %v", got)
	}
	if !c.Conditions().Get(v1.ConditionDisruptionReason).IsTrue() || !c.Conditions().Get(v1.ConditionInitialized).IsTrue() {
		t.Errorf("conditions of the NodeClaim: %v", kinds(c.Status.Conditions))
	}
	left := kinds(read.Status.Conditions)
	for _, own := range []string{awsv1.ConditionLaunchPermitted, awsv1.ConditionCatalogueCurrent, v1.ConditionUnsupported} {
		if slices.Contains(left, own) {
			t.Errorf("conditions of the class: %v", left)
		}
	}
	if !slices.Contains(left, awsv1.ConditionSubnetsReady) || !strings.Contains(out, "nodepool p: the daemon's conditions") || !strings.Contains(out, "ec2nodeclass default: the daemon's conditions") {
		t.Errorf("conditions of the class: %v\n%s", left, out)
	}
	s.writes = nil
	if out, err := s.handBack(t, false); err != nil || out != "" || len(s.writes) > 0 {
		t.Errorf("a second run: error %v, writes %v\n%s", err, s.writes, out)
	}
}

func TestRun_ChangesNothingWhileTheDaemonRunsOrAPoolIsEmptied(t *testing.T) {
	for want, prepare := range map[string]func(*server){
		"scale deployment karpenterd --replicas=0": func(s *server) {
			s.put(t, pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: "karpenterd-0", Labels: install.LeaseLabels()}})
		},
		"nodepool p is being deleted and has 1 nodeclaims": func(s *server) {
			p, now := pool("p"), metav1.Now()
			p.DeletionTimestamp = &now
			s.put(t, pools, p)
		},
	} {
		s := cluster(t, nil)
		prepare(s)
		if _, err := s.handBack(t, false); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "nothing was changed") || len(s.writes) > 0 {
			t.Errorf("error %v, want %q; writes %v", err, want, s.writes)
		}
	}
}

func TestRun_ADryRunWritesNothing(t *testing.T) {
	s := cluster(t, func(_ *v1.NodePool, _ *v1.NodeClaim, n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{v1.AwaitingPodsTaint()}
	})
	if out, err := s.handBack(t, true); err != nil || len(s.writes) > 0 || s.dry != 3 || !strings.Contains(out, "nodepool p:") {
		t.Errorf("error %v, writes %v, checked %d\n%s", err, s.writes, s.dry, out)
	}
}

func TestRun_ANodeClaimWhoseInstanceCannotBeReadIsNotDeleted(t *testing.T) {
	s := cluster(t, func(*v1.NodePool, *v1.NodeClaim, *corev1.Node) {})
	s.objects[claims+"/c"]["status"].(map[string]any)["providerID"] = 7
	if _, err := s.handBack(t, false); err != nil {
		t.Fatal(err)
	}
	if _, left := s.objects[claims+"/c"]; !left {
		t.Errorf("writes %v", s.writes)
	}
}
