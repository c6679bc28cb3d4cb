package simulate

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	drawn "github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// copier writes the dump of a cluster of any size, the same each time. Its objects are those of the
// dump of Karpenter's cluster, with names of their own, and as large as they are in real clusters:
// with managed fields, environment, probes, volumes and the images of nodes.
type copier struct {
	to    *bufio.Writer
	draw  *rand.Rand
	some  bool              // an object has been written
	text  map[string]string // of each kind of object, with words in capitals to replace
	plain []string          // objects that are written as they are
	err   error
}

// How the cluster is made: chosen, an ordinary mix.
const (
	podsEach   = 40 // of a Deployment
	namespaces = 20
	spreadEach = 3  // of so many Deployments one is spread over the zones
	budgetEach = 2  // of so many one has a PodDisruptionBudget
	variables  = 6  // in the environment of a container
	images     = 12 // that a node lists
	managed    = 2  // how deep managed fields are
)

// shape is an instance type with what its nodes have for pods.
type shape struct {
	name       string
	milli, mib int64
	pods       int
}

func shapes() []shape {
	return []shape{{"m5.2xlarge", 7910, 30_700, 58}, {"c6a.4xlarge", 15_890, 29_300, 234}, {"r6i.xlarge", 3920, 30_700, 58}, {"m6a.4xlarge", 15_890, 60_300, 234}}
}

type object = map[string]any

// newFull takes the objects from the dump.
func newFull(t testing.TB, to io.Writer) *copier {
	t.Helper()
	file, err := os.Open(karpenterDump)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var list struct{ Items []object }
	if err := json.NewDecoder(unpacked).Decode(&list); err != nil {
		t.Fatal(err)
	}
	f := &copier{to: bufio.NewWriterSize(to, 1<<20), draw: rand.New(rand.NewPCG(3, 4)), text: map[string]string{}}
	for _, o := range list.Items {
		f.learn(o)
	}
	for _, kind := range []string{"Node", "NodeClaim", "Pod", "ReplicaSet", "PodDisruptionBudget", "DaemonSet"} {
		if f.text[kind] == "" {
			t.Fatalf("%s has no %s to copy", karpenterDump, kind)
		}
	}
	return f
}

// learn takes the object as a model of others, or to be written as it is.
func (f *copier) learn(o object) {
	kind, meta := o["kind"].(string), o["metadata"].(object)
	labels, _ := meta["labels"].(object)
	app, _ := labels["app"].(string)
	owner := ""
	if list, owned := meta["ownerReferences"].([]any); owned {
		owner = list[0].(object)["kind"].(string)
	}
	switch {
	case meta["deletionTimestamp"] != nil:
	case kind == "NodePool" && meta["name"] == "general":
		spec := o["spec"].(object)
		delete(spec, "limits")
		spec["disruption"].(object)["consolidateAfter"] = "1m"
		template := spec["template"].(object)["spec"].(object)
		template["requirements"] = slices.DeleteFunc(template["requirements"].([]any), func(r any) bool { return r.(object)["key"] == "karpenter.k8s.aws/instance-cpu" })
		f.plain = append(f.plain, indented(o))
	case slices.Contains([]string{"DaemonSet", "EC2NodeClass", "PriorityClass", "StorageClass", "PersistentVolume", "PersistentVolumeClaim"}, kind):
		f.plain = append(f.plain, indented(o))
		f.text[kind] = "plain"
	case labels["karpenter.sh/nodepool"] == "general" && kind == "Node":
		f.node(o)
	case labels["karpenter.sh/nodepool"] == "general" && kind == "NodeClaim":
		f.claim(o)
	case kind == "Pod" && owner == "DaemonSet" && o["spec"].(object)["nodeName"] != nil:
		f.pod("Pod of "+app, o)
	case kind == "Pod" && app == "web":
		f.pod("Pod", o)
	case kind == "ReplicaSet" && app == "web":
		f.set(o)
	case kind == "PodDisruptionBudget" && meta["name"] == "web":
		o["status"] = object{"currentHealthy": podsEach, "desiredHealthy": podsEach * 9 / 10, "disruptionsAllowed": podsEach / 10, "expectedPods": podsEach, "observedGeneration": 1}
		f.model(kind, o, "web", "APP", "shop", "NAMESPACE", uid(o), "UID")
	}
}

func uid(o object) string { return o["metadata"].(object)["uid"].(string) }

func indented(o object) string {
	text, err := json.MarshalIndent(o, "        ", "    ")
	if err != nil {
		panic(err) // it was JSON before
	}
	return string(text)
}

// model keeps the object as kubectl writes it, managed fields included, with words in place of what
// differs: pairs of JSON strings as they are and as they are to be.
func (f *copier) model(kind string, o object, words ...string) {
	meta := o["metadata"].(object)
	var writers []any
	for _, part := range []string{"spec", "status"} {
		if x, there := o[part].(object); there {
			writers = append(writers, object{
				"apiVersion": o["apiVersion"], "fieldsType": "FieldsV1", "fieldsV1": object{"f:" + part: fieldsOf(x, managed)},
				"manager": "writer-of-the-" + part, "operation": "Update", "time": meta["creationTimestamp"],
			})
		}
	}
	meta["managedFields"] = writers
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	f.text[kind] = strings.NewReplacer(words...).Replace(indented(o))
}

// fieldsOf are the managed fields of an object, down to a depth.
func fieldsOf(x any, deep int) object {
	out := object{}
	if deep == 0 {
		return out
	}
	switch x := x.(type) {
	case object:
		for key, value := range x {
			out["f:"+key] = fieldsOf(value, deep-1)
		}
	case []any:
		for i, value := range x {
			out[fmt.Sprintf(`k:{"name":"item-%d"}`, i)] = fieldsOf(value, deep-1)
		}
	}
	return out
}

// node keeps the model of nodes. Their labels are those of the instance type.
func (f *copier) node(o object) {
	meta, spec, status := o["metadata"].(object), o["spec"].(object), o["status"].(object)
	ownLabels(meta)
	var list []any
	for i := range images {
		name := fmt.Sprintf("registry.example.com/team-%d/service-%d", i%7, i)
		list = append(list, object{"names": []any{fmt.Sprintf("%s@sha256:%064x", name, i*7919), name + ":1.0." + fmt.Sprint(i)}, "sizeBytes": 50_000_000 + i*1_234_567})
	}
	status["images"] = list
	room(status)
	f.model("Node", o, meta["name"].(string), "NODE", uid(o), "UID", spec["providerID"].(string), "PROVIDER")
}

// ownLabels keeps of the labels those that the instance type does not say otherwise.
func ownLabels(meta object) {
	all := meta["labels"].(object)
	maps.DeleteFunc(all, func(key string, _ any) bool { return strings.HasPrefix(key, "karpenter.k8s.aws/") })
	all["node.kubernetes.io/instance-type"], all["topology.kubernetes.io/zone"] = "TYPE", "ZONE"
	delete(all, "beta.kubernetes.io/instance-type")
	delete(all, "failure-domain.beta.kubernetes.io/zone")
	delete(all, "topology.k8s.aws/zone-id")
}

// room says what a node has.
func room(status object) {
	for _, part := range []string{"allocatable", "capacity"} {
		x := status[part].(object)
		x["cpu"], x["memory"], x["pods"] = "CPU", "MEMORY", "PODS"
	}
}

func (f *copier) claim(o object) {
	meta, status := o["metadata"].(object), o["status"].(object)
	ownLabels(meta)
	room(status)
	f.model("NodeClaim", o, meta["name"].(string), "CLAIM", uid(o), "UID", status["nodeName"].(string), "NODE", status["providerID"].(string), "PROVIDER")
}

// pod keeps a model of pods.
func (f *copier) pod(kind string, o object) {
	meta, spec := o["metadata"].(object), o["spec"].(object)
	large(spec)
	owner := meta["ownerReferences"].([]any)[0].(object)
	node := spec["nodeName"].(string)
	words := []string{meta["name"].(string), "NAME", uid(o), "UID", node, "NODE"}
	if kind != "Pod" {
		f.model(kind, o, words...)
		return
	}
	words = append(words, owner["name"].(string), "SET", owner["uid"].(string), "OWNER", "web", "APP", "shop", "NAMESPACE", "500m", "CPU", "1Gi", "MEMORY")
	f.model("Pod that is spread", o, slices.Clone(words)...)
	delete(spec, "topologySpreadConstraints")
	f.model(kind, o, words...)
}

// large gives the first container what those of real clusters have.
func large(spec object) {
	volumes, _ := spec["volumes"].([]any)
	c := spec["containers"].([]any)[0].(object)
	var env []any
	for i := range variables {
		env = append(env, object{"name": fmt.Sprintf("SETTING_NUMBER_%d", i), "value": fmt.Sprintf("https://service-%d.example.com:8443/path/of/the/setting", i)})
	}
	mounts, _ := c["volumeMounts"].([]any)
	c["env"], c["volumeMounts"] = env, append(mounts, object{"mountPath": "/etc/config", "name": "config", "readOnly": true}, object{"mountPath": "/tmp", "name": "scratch"})
	for _, probe := range []string{"livenessProbe", "readinessProbe"} {
		c[probe] = object{"failureThreshold": 3, "httpGet": object{"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 1}
	}
	spec["volumes"] = append(volumes, object{"configMap": object{"defaultMode": 420, "name": "config"}, "name": "config"}, object{"emptyDir": object{}, "name": "scratch"})
}

// set keeps the models of ReplicaSets: of the present one of a Deployment, and of those before.
func (f *copier) set(o object) {
	meta, spec := o["metadata"].(object), o["spec"].(object)
	large(spec["template"].(object)["spec"].(object))
	owner := meta["ownerReferences"].([]any)[0].(object)
	words := func() []string {
		return []string{meta["name"].(string), "SET", uid(o), "UID", owner["uid"].(string), "OWNER", "web", "APP", "shop", "NAMESPACE", "500m", "CPU", "1Gi", "MEMORY"}
	}
	spec["replicas"], o["status"] = podsEach, object{"availableReplicas": podsEach, "fullyLabeledReplicas": podsEach, "observedGeneration": 1, "readyReplicas": podsEach, "replicas": podsEach}
	f.model("ReplicaSet that is spread", o, words()...)
	delete(spec["template"].(object)["spec"].(object), "topologySpreadConstraints")
	f.model("ReplicaSet", o, words()...)
	spec["replicas"], o["status"] = 0, object{"observedGeneration": 3, "replicas": 0}
	f.model("ReplicaSet before", o, words()...)
}

// put writes an object of the kind with these words: pairs of what the model has and what comes.
func (f *copier) put(kind string, words ...string) {
	text := f.text[kind]
	for i := 0; i < len(words); i += 2 {
		words[i], words[i+1] = `"`+words[i]+`"`, `"`+words[i+1]+`"`
	}
	f.item(func(to io.Writer) error {
		_, err := strings.NewReplacer(words...).WriteString(to, text)
		return err //nolint:wrapcheck // the writer says all
	})
}

func (f *copier) item(write func(io.Writer) error) {
	before := ",\n        "
	if !f.some {
		f.some, before = true, "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        "
	}
	if _, err := f.to.WriteString(before); err != nil && f.err == nil {
		f.err = err
	}
	if err := write(f.to); err != nil && f.err == nil {
		f.err = err
	}
}

// placed is a node with what is left of it.
type placed struct {
	name       string
	zone       int
	milli, mib int64
	pods       int
}

// write writes the dump of so many nodes and pods, those of DaemonSets included.
func (f *copier) write(nodes, pods int) error {
	for _, text := range f.plain {
		f.item(func(to io.Writer) error {
			_, err := io.WriteString(to, text)
			return err //nolint:wrapcheck // the writer says all
		})
	}
	for i := range namespaces {
		f.text["Namespace"] = indented(object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": "NAMESPACE", "uid": "UID", "labels": object{"kubernetes.io/metadata.name": "NAMESPACE"}}, "status": object{"phase": "Active"}})
		f.put("Namespace", "NAMESPACE", namespaceOf(i), "UID", "namespace-"+fmt.Sprint(i))
	}
	all := make([]placed, nodes)
	for i := range all {
		all[i] = f.oneNode(i)
	}
	daemons := 0
	for _, kind := range slices.Sorted(maps.Keys(f.text)) {
		if app, is := strings.CutPrefix(kind, "Pod of "); is {
			daemons++
			for i := range all {
				name := fmt.Sprintf("%s-%05d", app, i)
				f.put(kind, "NAME", name, "UID", "pod-"+name, "NODE", all[i].name)
			}
		}
	}
	for i := range (pods - daemons*nodes) / podsEach {
		f.deployment(i, all)
	}
	if _, err := f.to.WriteString("\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n"); err != nil && f.err == nil {
		f.err = err
	}
	if err := f.to.Flush(); err != nil && f.err == nil {
		f.err = err
	}
	return f.err
}

func namespaceOf(i int) string { return fmt.Sprintf("team-%d", i%namespaces) }

// oneNode writes a node with its NodeClaim.
func (f *copier) oneNode(i int) placed {
	s, zone := shapes()[f.draw.IntN(len(shapes()))], i%3
	n := placed{name: fmt.Sprintf("ip-10-%d-%d-%d.us-west-2.compute.internal", zone, i/250, i%250), zone: zone, milli: s.milli - 500, mib: s.mib - 1000, pods: s.pods - 4}
	in := "us-west-2" + string(rune('a'+zone))
	words := func() []string {
		return []string{
			"NODE", n.name, "PROVIDER", fmt.Sprintf("aws:///%s/i-%017x", in, i), "TYPE", s.name, "ZONE", in, "CLAIM", fmt.Sprintf("general-%05d", i), "UID", fmt.Sprintf("node-%d", i),
			"CPU", fmt.Sprintf("%dm", s.milli), "MEMORY", fmt.Sprintf("%dMi", s.mib), "PODS", fmt.Sprint(s.pods),
		}
	}
	f.put("NodeClaim", words()...)
	f.put("Node", words()...)
	return n
}

// deployment writes the ReplicaSets of a Deployment with its pods, as many in each zone, and
// its PodDisruptionBudget if it has one.
func (f *copier) deployment(i int, all []placed) {
	milli := []int64{50, 100, 100, 250, 500}[f.draw.IntN(5)]
	mib := milli * []int64{1, 2, 4, 8}[f.draw.IntN(4)]
	app := fmt.Sprintf("app-%d", i)
	words := func(more ...string) []string {
		return append(more, "SET", app+"-5d8f9c7b64", "APP", app, "NAMESPACE", namespaceOf(i), "CPU", fmt.Sprintf("%dm", milli), "MEMORY", fmt.Sprintf("%dMi", mib))
	}
	spread := ""
	if i%spreadEach == 0 {
		spread = " that is spread"
	}
	f.put("ReplicaSet"+spread, words("UID", "set-"+app, "OWNER", "deployment-"+app)...)
	for k := range 2 {
		old := fmt.Sprintf("%s-%010x", app, k+1)
		f.put("ReplicaSet before", append([]string{"SET", old, "UID", "set-" + old}, words("OWNER", "deployment-"+app)...)...)
	}
	if i%budgetEach == 0 {
		f.put("PodDisruptionBudget", words("UID", "budget-"+app)...)
	}
	for k := range podsEach {
		n := &all[f.draw.IntN(len(all))]
		for n.zone != k%3 || n.milli < milli+50 || n.mib < mib+128 || n.pods == 0 {
			n = &all[f.draw.IntN(len(all))]
		}
		n.milli, n.mib, n.pods = n.milli-milli-50, n.mib-mib-128, n.pods-1
		name := fmt.Sprintf("%s-5d8f9c7b64-%05d", app, k)
		f.put("Pod"+spread, words("NAME", name, "UID", "pod-"+name, "OWNER", "set-"+app, "NODE", n.name)...)
	}
}

// fullSize is a cluster, and for how long it is played.
type fullSize struct {
	name        string
	nodes, pods int
	length      time.Duration
}

// fullSizes are the clusters whose reports are held to texts: the large one where all cases are
// played, and as far as most of what is to come is done.
func fullSizes() []fullSize {
	sizes := []fullSize{{"full-50", 50, 1000, time.Hour}}
	if drawn.Whole() {
		sizes = append(sizes, fullSize{"full-2000", 2000, 40_000, 5 * time.Minute})
	}
	return sizes
}

// write writes the dump into the folder.
func (s fullSize) write(t testing.TB, folder string) (path string) {
	t.Helper()
	path = filepath.Join(folder, s.name+".json")
	file, err := os.Create(path)
	if err == nil {
		err = newFull(t, file).write(s.nodes, s.pods)
	}
	if err == nil {
		err = file.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// run reads the dump and simulates it. It also returns when the dump was read.
func (s fullSize) run(t testing.TB, path string) (*Report, time.Time) {
	t.Helper()
	c, o := readDump(t, path), hour()
	o.For = s.length
	read := time.Now()
	r, err := Run(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return r, read
}

func TestReport_OfAFullSizeClusterReadsAsItsGoldenText(t *testing.T) {
	t.Parallel()
	for _, s := range fullSizes() {
		r, _ := s.run(t, s.write(t, t.TempDir()))
		agrees(t, &r.Forecast)
		if r.Now.Nodes != s.nodes || r.Now.Pods != r.Then.Pods || r.SavingPercent() < 30 || len(r.Notes) != 1 {
			t.Errorf("%s: now %+v, then %+v, notes %q", s.name, r.Now, r.Then, r.Notes)
		}
		golden(t, s.name+".txt", r.WriteTable)
	}
}

// BenchmarkSimulate reads and simulates dumps of clusters whose objects are as large as in real ones,
// up to 2,000 nodes and 40,000 pods. MB-memory is what the program has had from the system at most.
func BenchmarkSimulate(b *testing.B) {
	for _, s := range []fullSize{{"200 nodes", 200, 4000, time.Hour}, {"2000 nodes", 2000, 40_000, time.Hour}} {
		b.Run(s.name, func(b *testing.B) {
			path := s.write(b, b.TempDir())
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			var memory runtime.MemStats
			for b.Loop() {
				began := time.Now()
				r, read := s.run(b, path)
				b.ReportMetric(read.Sub(began).Seconds(), "s-read")
				b.ReportMetric(time.Since(read).Seconds(), "s-simulate")
				b.ReportMetric(r.SavingPercent(), "%saved")
				b.ReportMetric(r.Then.GapPercent, "%gap")
			}
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(memory.Sys)/1e6, "MB-memory")
			b.ReportMetric(float64(info.Size())/1e6, "MB-dump")
		})
	}
}
