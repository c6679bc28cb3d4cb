package dump_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/dump"
)

// result is what a file had, sorted.
type result struct {
	objects []string // KIND NAMESPACE/NAME
	kinds   map[dump.Kind]int
	older   []string // KIND (VERSION)
	faults  []string
	err     string
}

// read reads a file that is called f.
func read(t *testing.T, from io.Reader) (r result) {
	t.Helper()
	found := dump.Found{Objects: func(_ int, o metav1.Object) {
		r.objects = append(r.objects, fmt.Sprintf("%s %s/%s", strings.TrimPrefix(fmt.Sprintf("%T", o), "*"), o.GetNamespace(), o.GetName()))
	}}
	if err := found.Read(t.Context(), "f", from); err != nil {
		r.err = err.Error()
	}
	for _, x := range found.Older {
		r.older = append(r.older, x.Kind.String())
	}
	for _, err := range found.Faults {
		r.faults = append(r.faults, err.Error())
	}
	r.kinds = found.Kinds
	slices.Sort(r.objects)
	slices.Sort(r.older)
	return r
}

// same requires that the file has these objects, and nothing else.
func same(t *testing.T, text string, want ...string) {
	t.Helper()
	got := read(t, strings.NewReader(text))
	if d := cmp.Diff(want, got.objects); d != "" || got.err != "" || got.faults != nil {
		t.Errorf("objects (-want +got):\n%serror %q, faults %q of\n%s", d, got.err, got.faults, text)
	}
}

const (
	podA = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"x"},"spec":{"nodeName":"n"}}`
	podB = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"x"}}`
	node = `{"apiVersion":"v1","kind":"Node","metadata":{"name":"m"}}`
	// listOfYAML is what "kubectl get -o yaml" writes of two objects.
	listOfYAML = `apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    annotations:
      script: |
        ---
        - x
        items:
        kind: Y

        # no comment
    name: a
    namespace: x
  spec:
    containers:
    - name: c
- apiVersion: v1
  kind: Node
  metadata:
    name: m
kind: List
metadata:
  resourceVersion: ""
`
)

func TestRead_JSONInEveryFormThatItIsWrittenIn(t *testing.T) {
	t.Parallel()
	both := []string{"v1.Node /m", "v1.Pod x/a"}
	for name, text := range map[string]string{
		"List of kubectl":           "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n        " + podA + ",\n        " + node + "\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n",
		"kind before items":         `{"kind":"List","apiVersion":"v1","items":[` + podA + `,` + node + `]}`,
		"several values":            podA + "\n" + node + "\n",
		"several values, no space":  podA + node,
		"several Lists":             `{"items":[` + podA + `],"kind":"List"}{"items":[` + node + `],"kind":"List"}`,
		"array":                     "[" + podA + ",\n" + node + "]",
		"array of Lists":            `[{"items":[` + podA + `],"kind":"List"},{"kind":"List","items":[` + node + `]}]`,
		"List in a List":            `{"items":[` + podA + `,{"items":[` + node + `],"kind":"List"}],"kind":"List"}`,
		"CRLF":                      strings.ReplaceAll("{\n\"items\":\n[\n"+podA+",\n"+node+"\n],\n\"kind\": \"List\"\n}\n", "\n", "\r\n"),
		"byte order mark":           "\ufeff" + podA + node,
		"space before":              "\n\n  " + podA + node,
		"separated as YAML":         podA + "\n---\n" + node + "\n",
		"after comments":            "# of today\n---\n" + podA + "\n---\n" + node + "\n",
		"List after a comment":      "# of today\n" + `{"kind":"List","items":[` + podA + `,` + node + `]}`,
		"brackets inside texts":     `{"kind":"List","items":[{"kind":"Pod","apiVersion":"v1","metadata":{"namespace":"x","name":"a","annotations":{"}]\\":"\"}]{[\\"}}},` + node + `]}`,
		"items are none of a List":  `{"apiVersion":"v1","kind":"Pod","items":{"a":[1]},"metadata":{"name":"a","namespace":"x"}}` + node,
		"API lists, bare items":     `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a","namespace":"x"}}]}{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":{"name":"m"},"spec":{}}]}`,
		"API list, other kinds too": `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a","namespace":"x"}},` + node + `]}`,
		"null and empty Lists":      `{"kind":"List","items":null}{"kind":"PodList","items":[]}{"kind":"List"}` + podA + node,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); same(t, text, both...) })
	}
	t.Run("one object", func(t *testing.T) { t.Parallel(); same(t, podA, "v1.Pod x/a") })
}

func TestRead_YAMLInEveryFormThatItIsWrittenIn(t *testing.T) {
	t.Parallel()
	const pod, node = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  namespace: x\n", "apiVersion: v1\nkind: Node\nmetadata:\n  name: m\n"
	indented := strings.NewReplacer("\n- ", "\n  - ", "\n  ", "\n    ").Replace(listOfYAML[:strings.Index(listOfYAML, "kind: List")-1]) + "\nkind: List\n"
	for name, text := range map[string]string{
		"List of kubectl":           listOfYAML,
		"items indented":            indented,
		"kind before items":         "apiVersion: v1\nkind: List\n" + strings.TrimPrefix(before(listOfYAML, "kind: List"), "apiVersion: v1\n"),
		"two Lists, no separator":   strings.Replace(listOfYAML, "- apiVersion: v1\n  kind: Node", "kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node", 1),
		"dash alone in its line":    strings.ReplaceAll(listOfYAML, "\n- apiVersion", "\n-\n  apiVersion"),
		"wide dash":                 "kind: List\nitems:\n-   apiVersion: v1\n    kind: Pod\n    metadata: {name: a, namespace: x}\n-   {apiVersion: v1, kind: Node, metadata: {name: m}}\n",
		"List in one line":          "kind: List\nitems: [" + podA + ", " + "{kind: Node, apiVersion: v1, metadata: {name: m}}]\n",
		"items with a comment":      "kind: List\nitems: # two\n- {kind: Pod, apiVersion: v1, metadata: {name: a, namespace: x}}\n- {kind: Node, apiVersion: v1, metadata: {name: m}}\n",
		"comments between items":    strings.Replace(listOfYAML, "\n- apiVersion: v1\n  kind: N", "\n# a node\n\n- apiVersion: v1\n  kind: N", 1),
		"documents":                 pod + "---\n" + node,
		"documents, more lines":     "%YAML 1.2\n---\n" + pod + "...\n---\n# nothing\n---\n---  \n" + node + "...\n",
		"documents, comments there": "# head\n--- # Source: a.yaml\n" + pod + "--- # Source: b.yaml\n" + node,
		"text behind the separator": "--- {apiVersion: v1, kind: Node, metadata: {name: m}}\n---\n" + pod,
		"List and document":         "kind: List\nitems:\n- " + strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\n  ") + "\n---\n" + node,
		"no newline at the end":     pod + "---\n" + strings.TrimSpace(node),
		"first line indented":       "\n  " + strings.ReplaceAll(strings.TrimSpace(pod), "\n", "\n  ") + "\n---\n" + node,
		"CRLF":                      strings.ReplaceAll(listOfYAML, "\n", "\r\n"),
		"CRLF, documents":           strings.ReplaceAll(pod+"---\n"+node, "\n", "\r\n"),
		"byte order mark":           "\ufeff" + listOfYAML,
		"API list, bare items":      "kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: a, namespace: x}\n---\n" + node,
		"empty Lists":               "apiVersion: v1\nitems: []\nkind: List\n---\nitems:\nkind: List\n---\n" + pod + "---\n" + node,
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); same(t, text, "v1.Node /m", "v1.Pod x/a") })
	}
}

func TestRead_BlockScalarsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var got string
	found := dump.Found{Objects: func(_ int, o metav1.Object) {
		if o.GetName() == "a" {
			got = o.GetAnnotations()["script"]
		}
	}}
	if err := found.ReadText("f", listOfYAML); err != nil {
		t.Fatal(err)
	}
	if want := "---\n- x\nitems:\nkind: Y\n\n# no comment\n"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
}

func TestRead_WithoutIndentationJSONMeansTheSame(t *testing.T) {
	t.Parallel()
	var got metav1.Object
	found := dump.Found{Objects: func(_ int, o metav1.Object) { got = o }}
	const text = "{\n  \"kind\" :\r\n\t\"Pod\", \"apiVersion\":\"v1\",\n\n   \"metadata\": {\n \"name\"\n:\n\"a\", \"generation\":\n 12\n },\n \"spec\": {\"nodeName\": \"  two  \\n  \\\"spaces\\\\\",\n \"hostPID\":true\n}\n}"
	if err := found.ReadText("f", `{"kind":"List","items":[`+text+"\n ]\n }"); err != nil || len(found.Faults) > 0 {
		t.Fatalf("%v, faults %v", err, found.Faults)
	}
	var want corev1.Pod
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(metav1.Object(&want), got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	two := read(t, strings.NewReader(`[{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","generation":1`+"\n  2}}]"))
	if len(two.faults) != 1 || !strings.Contains(two.faults[0], "invalid character '2'") {
		t.Errorf("two numbers became one: %+v", two)
	}
}

func TestRead_UnpacksGzip(t *testing.T) {
	t.Parallel()
	same(t, packed(t, podA+node), "v1.Node /m", "v1.Pod x/a")
	same(t, packed(t, listOfYAML), "v1.Node /m", "v1.Pod x/a")
	same(t, packed(t, podA)+packed(t, node), "v1.Node /m", "v1.Pod x/a")
}

// before is the text as far as the mark.
func before(text, mark string) string {
	text, _, _ = strings.Cut(text, mark)
	return text
}

func packed(tb testing.TB, text string) string {
	tb.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, text)
	if err = errors.Join(err, w.Close()); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func TestRead_AListOfNothingIsNoError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"{\n    \"apiVersion\": \"v1\",\n    \"items\": [],\n    \"kind\": \"List\"\n}\n", `{"kind":"PodList","items":null}`, `[{"kind":"List","items":[]}]`,
		"apiVersion: v1\nitems: []\nkind: List\nmetadata:\n  resourceVersion: \"\"\n", "kind: List\nitems:\n",
	} {
		same(t, text)
	}
}

func TestRead_KindsThatNoDecisionReadsAreCountedAndNotDecoded(t *testing.T) {
	t.Parallel()
	got := read(t, strings.NewReader(`{"items":[{"apiVersion":"v1","kind":"Secret","metadata":17},{"apiVersion":"v1","data":{"x":"y"},"kind":"Secret"},`+podA+`],"kind":"List"}`+
		`{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`))
	want := map[dump.Kind]int{{"v1", "Secret"}: 2, {"v1", "Pod"}: 1, {"v1", "ConfigMap"}: 1}
	if !maps.Equal(got.kinds, want) || len(got.objects) != 1 || got.faults != nil || got.err != "" {
		t.Errorf("got %+v, want kinds %v", got, want)
	}
}

func TestRead_KarpentersOlderVersionsAreKeptAsText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"items":[{"apiVersion":"karpenter.sh/v1alpha5","kind":"Provisioner","metadata":{"name":"p"}},{"apiVersion":"karpenter.k8s.aws/v1beta1","kind":"EC2NodeClass","metadata":{"name":"c"}},{"apiVersion":"karpenter.sh/v1","kind":"NodePool","metadata":{"name":"new"}}]}`,
		"kind: List\nitems:\n- apiVersion: karpenter.sh/v1alpha5\n  kind: Provisioner\n- apiVersion: karpenter.k8s.aws/v1beta1\n  kind: EC2NodeClass\n- apiVersion: karpenter.sh/v1\n  kind: NodePool\n  metadata:\n    name: new\n",
	} {
		got := read(t, strings.NewReader(text))
		want := []string{"EC2NodeClass (karpenter.k8s.aws/v1beta1)", "Provisioner (karpenter.sh/v1alpha5)"}
		if !slices.Equal(got.older, want) || !slices.Equal(got.objects, []string{"v1.NodePool /new"}) {
			t.Errorf("got %+v, want older %q and a NodePool", got, want)
		}
	}
	found := dump.Found{Objects: func(int, metav1.Object) {}}
	const text = `{"apiVersion":"karpenter.sh/v1beta1","kind":"NodePool","metadata":{"name":"p"}}`
	if err := found.ReadText("f", text); err != nil || len(found.Older) != 1 {
		t.Fatalf("%v, and %d are older", err, len(found.Older))
	}
	if x := found.Older[0]; x.Source != "f" || string(x.Text) != text {
		t.Errorf("it is kept as %s of %s", x.Text, x.Source)
	}
}

func TestRead_AnObjectThatCannotBeReadIsNamedAndTheRestIsRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		object string
		fault  []string
		broken bool // it is no YAML either
	}{
		"field of another type":  {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad","namespace":"y"},"spec":{"nodeName":7}}`, []string{"Pod y/bad cannot be read", "nodeName"}, false},
		"no quantity":            {`{"apiVersion":"v1","kind":"Node","metadata":{"name":"bad"},"status":{"capacity":{"cpu":"many"}}}`, []string{"Node bad cannot be read", "quantities"}, false},
		"metadata of all sorts":  {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad","labels":5,"namespace":"y"}}`, []string{"Pod y/bad cannot be read", "labels"}, false},
		"no metadata":            {`{"apiVersion":"v1","kind":"Pod","metadata":5}`, []string{"Pod without a name cannot be read"}, false},
		"no JSON inside":         {`{"apiVersion":"v1","kind":"Pod","metadata":{"name" "bad"}}`, []string{"Pod without a name cannot be read", "invalid character"}, true},
		"brackets do not match":  {`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"bad"]}`, []string{"Pod without a name cannot be read", "invalid character"}, true},
		"no name":                {`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"y"}}`, []string{"the Pod has no name"}, false},
		"no kind":                {`{"metadata":{"name":"bad"}}`, []string{"it has no kind"}, false},
		"no apiVersion, no kind": {`{}`, []string{"it has no kind"}, false},
		"no object":              {`17`, []string{"it is no object"}, false},
		"null":                   {`null`, []string{"it is no object"}, false},
		"Lists without end":      {`{"kind":"List","items":[{"kind":"List","items":[{"kind":"List"}]}]}`, []string{"List in a List"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range []string{
				`{"items":[` + podA + `,` + c.object + `,` + podB + `],"kind":"List"}`,
				"[" + podA + "," + c.object + "," + podB + "]",
				"items:\n- " + podA + "\n- " + c.object + "\n- " + podB + "\nkind: List\n",
				"---\n" + podA + "\n---\n" + c.object + "\n---\n" + podB + "\n",
			} {
				got := read(t, strings.NewReader(text))
				if got.err != "" || !slices.Equal(got.objects, []string{"v1.Pod x/a", "v1.Pod x/b"}) || len(got.faults) != 1 {
					t.Fatalf("got %+v of %s", got, text)
				}
				wants := append([]string{"dump f, object 2", "it is left out"}, c.fault...)
				if c.broken && text[0] != '{' && text[0] != '[' {
					wants = []string{"dump f, object 2", "it is no YAML", "it is left out"}
				}
				for _, want := range wants {
					if !strings.Contains(got.faults[0], want) {
						t.Errorf("fault %q does not say %q", got.faults[0], want)
					}
				}
			}
		})
	}
	t.Run("fields twice, as in manifests without a separator", func(t *testing.T) {
		t.Parallel()
		got := read(t, strings.NewReader("kind: Node\napiVersion: v1\nmetadata: {name: m}\nkind: Pod\napiVersion: v1\nmetadata: {name: a}\n---\n"+podB))
		if len(got.faults) != 1 || !strings.Contains(got.faults[0], `key "kind" already set`) || len(got.objects) != 1 {
			t.Errorf("got %+v", got)
		}
	})
}

func TestRead_AFileThatBreaksOffIsAnError(t *testing.T) {
	t.Parallel()
	list := `{"apiVersion":"v1","items":[` + podA + `,` + podB + `],"kind":"List"}`
	long := packed(t, longList(3000))
	for name, c := range map[string]struct {
		text  string
		count int // objects read before
	}{
		"JSON, in an item":        {list[:len(list)-40], 1},
		"JSON, in a text":         {list[:strings.Index(list, `"b"`)+2], 1},
		"JSON, between items":     {before(list, podB), 1},
		"JSON, before a comma":    {list[:strings.Index(list, podB)-1], 1},
		"JSON, after the items":   {list[:strings.Index(list, `],"kind"`)+1], 2},
		"JSON, in the kind":       {list[:len(list)-4], 2},
		"JSON, before the end":    {list[:len(list)-1], 2},
		"JSON, at the beginning":  {list[:10], 0},
		"JSON, in a second value": {podA + podB[:20], 1},
		"JSON array":              {"[" + podA + ",", 1},
		"JSON, gzip":              {long[:len(long)/2], -1},
		"gzip, without its end":   {packed(t, podA)[:len(packed(t, podA))-4], 1},
		"YAML, in an item":        {before(listOfYAML, "name: m"), 1},
		"YAML, between items":     {before(listOfYAML, "- apiVersion: v1\n  kind: Node"), 0},
		"YAML, before the kind":   {before(listOfYAML, "kind: List"), 1},
		"YAML, gzip":              {packed(t, listOfYAML)[:len(packed(t, listOfYAML))-4], -1},
		"YAML, a second List":     {listOfYAML + before(listOfYAML, "kind: List"), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, strings.NewReader(c.text))
			if !strings.HasPrefix(got.err, "dump f: it breaks off after ") || !strings.HasSuffix(got.err, "; write it again") {
				t.Errorf("the error is %q", got.err)
			}
			if c.count >= 0 && len(got.objects) != c.count {
				t.Errorf("%d objects were read before, want %d", len(got.objects), c.count)
			}
		})
	}
}

func TestRead_AFileWithoutObjectsIsOneError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty":                {"", "it has no objects"},
		"spaces":               {" \n\n", "it has no objects"},
		"comments":             {"# one\n---\n# two\n", "it has no objects"},
		"gzip of nothing":      {packed(t, ""), "it has no objects"},
		"array of nothing":     {"[]", "it has no objects"},
		"a text":               {"Hello there,\nhow are you?\n", "it is no object"},
		"what kubectl says":    {"error: You must be logged in to the server (Unauthorized)\n", "it has no kind"},
		"a table":              {"NAME   READY   STATUS\nweb-1  1/1     Running\n", "it is no object"},
		"a page":               {"<!DOCTYPE html>\n<html><body>: a: b</body></html>\n", "it is no YAML"},
		"PNG":                  {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x01\x00", "it is neither JSON nor YAML"},
		"bytes without breaks": {"\xff\xd8\xff\xe0", "it is no YAML"},
		"UTF-16":               {"\xff\xfe{\x00\"\x00", "it is UTF-16"},
		"other JSON":           {`{"a":[1,2]}`, "it has no kind"},
		"numbers":              {`[1,2]`, "it is no object"},
		"broken JSON":          {`{a}`, "it is no JSON"},
		"no JSON after it":     {podA + "}", "it is no JSON after 1 objects"},
		"broken gzip":          {"\x1f\x8b\x08\x00", "cannot be unpacked"},
		"damaged gzip":         {packed(t, podA)[:12] + "\xff\xff\xff\xff\xff\xff\xff\xff\xff", "it cannot be read on"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, strings.NewReader(c.text))
			if !strings.HasPrefix(got.err, "dump f: ") || !strings.Contains(got.err, c.want) || !strings.Contains(got.err, "rite it ") && !strings.Contains(got.err, "pack it again") {
				t.Errorf("the error is %q: want the file, %q, and a remedy", got.err, c.want)
			}
			if got.faults != nil {
				t.Errorf("faults beside the error: %q", got.faults)
			}
		})
	}
}

func TestRead_AnObjectThatIsTooLargeIsAnError(t *testing.T) {
	t.Parallel()
	text := func(piece string) io.Reader { return &repeated{piece: piece, left: dump.MostObject/len(piece) + 2} }
	for name, from := range map[string]io.Reader{
		"JSON item":           io.MultiReader(strings.NewReader(`{"items":[`+podA+`,{"kind":"Pod","x":"`), text("0123456789abcdef")),
		"JSON object":         io.MultiReader(strings.NewReader(podA+`{"kind":"Pod"`), text(`,"x":"0123456789abcdef"`)),
		"YAML item":           io.MultiReader(strings.NewReader("items:\n- "+podA+"\n- kind: Pod\n"), text("  x0123456789abcdef: y\n")),
		"YAML document":       io.MultiReader(strings.NewReader(podA+"\n---\nkind: Pod\n"), text("x0123456789abcdef: y\n")),
		"YAML, a single line": io.MultiReader(strings.NewReader(podA+"\n---\nkind: "), text("0123456789abcdef")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := read(t, from)
			if want := "dump f: object 2 has more than 32 MiB"; !strings.HasPrefix(got.err, want) || len(got.objects) != 1 {
				t.Errorf("%q with %d objects: want an error that begins %q, and the object before it", got.err, len(got.objects), want)
			}
		})
	}
}

func TestRead_AReaderThatFailsIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", `{"items":[` + podA, listOfYAML[:40]} {
		got := read(t, io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("the disk is gone"))))
		if !strings.Contains(got.err, "the disk is gone") {
			t.Errorf("the error is %q", got.err)
		}
	}
}

func TestRead_PiecesOfAnySizeAreReadAlike(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\ufeff" + podA + node, packed(t, podA+node), listOfYAML} {
		got := read(t, iotest.OneByteReader(strings.NewReader(text)))
		if got.err != "" || !slices.Equal(got.objects, []string{"v1.Node /m", "v1.Pod x/a"}) {
			t.Errorf("got %+v", got)
		}
	}
}

// repeated is a text over and over again.
type repeated struct {
	piece string
	left  int // how often; below 0 for ever
	rest  string
}

func (r *repeated) Read(to []byte) (int, error) {
	if r.rest == "" {
		if r.left == 0 {
			return 0, io.EOF
		}
		r.left--
		r.rest = r.piece
	}
	n := copy(to, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// longList is a List of pods as JSON.
func longList(pods int) string {
	return `{"items":[` + strings.Repeat(podA+",", pods-1) + podA + `],"kind":"List"}`
}

// What waits for ever, or goes on after Read, fails in synctest.
func TestRead_EndsWhenTheFileIsBrokenOrNobodyWaits(t *testing.T) {
	t.Parallel()
	t.Run("broken behind many objects", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			list := longList(5000)
			for _, end := range []string{"", "}", `,"a":}`, `,"items"`} {
				got := read(t, strings.NewReader(list[:len(list)-len(`],"kind":"List"}`)]+end))
				if got.err == "" || len(got.objects) != 5000 {
					t.Errorf("error %q after %d objects", got.err, len(got.objects))
				}
			}
		})
	})
	for name, begin := range map[string][2]string{
		"canceled, JSON": {`{"items":[`, podA + ","},
		"canceled, YAML": {"items:\n", "- " + podA + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				found := dump.Found{Objects: func(int, metav1.Object) { cancel() }}
				err := found.Read(ctx, "f", io.MultiReader(strings.NewReader(begin[0]), &repeated{piece: begin[1], left: -1}))
				if !errors.Is(err, context.Canceled) {
					t.Errorf("the error is %v", err)
				}
			})
		})
	}
}

// counted counts what was read of it.
type counted struct {
	io.Reader
	bytes atomic.Int64
}

func (c *counted) Read(to []byte) (int, error) {
	n, err := c.Reader.Read(to)
	c.bytes.Add(int64(n))
	return n, err
}

// What is in memory is at most the difference between what was read of the file and the objects
// that were handed on.
func TestRead_ALongListIsNotHeldInMemory(t *testing.T) {
	t.Parallel()
	const most = 4 << 20 // of 18 MB
	for name, piece := range map[string][3]string{
		"JSON": {`{"items":[`, longPod(`,`), podA + `]}`},
		"YAML": {"kind: List\nitems:\n", "- " + longPod("\n"), "- " + podA + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := counted{Reader: io.MultiReader(strings.NewReader(piece[0]), &repeated{piece: piece[1], left: 2000}, strings.NewReader(piece[2]))}
			seen, held := 0, 0
			found := dump.Found{Objects: func(int, metav1.Object) {
				held = max(held, int(from.bytes.Load())-seen*len(piece[1]))
				seen++
			}}
			if err := found.Read(t.Context(), "f", &from); err != nil || seen != 2001 || held > most {
				t.Errorf("%v, %d objects, up to %d bytes were held: want 2001, and at most %d bytes", err, seen, held, most)
			}
		})
	}
}

func longPod(end string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"x","annotations":{"long":"` + strings.Repeat("x", 9000) + `"}}}` + end
}
