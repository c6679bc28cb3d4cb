package dump_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/dump"
)

// FuzzRead: whatever a file has, reading it ends without a panic, and says what it found: an
// error, objects, or that a List has none; each object that is handed on is counted and has a name.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"", podA + node, `{"items":[` + podA + `,{"kind":"List","items":[null]}],"kind":"List"}`, `[1,"\\"]`, `{"kind":"PodList","items":[{"metadata":{"name":"a"}}]}`,
		listOfYAML, "--- # x\nkind: Pod\n...\n%YAML 1.2\n---\n{a: *b}\n", "items:\n  -\n    kind: Pod\n#\nkind: List\nitems: []\n", "\ufeff  a: &a [*a]\n", "\x1f\x8b\x08", packed(f, node),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		handed := 0
		found := dump.Found{Objects: func(_ int, o metav1.Object) {
			if handed++; o.GetName() == "" {
				t.Errorf("a %T has no name", o)
			}
		}}
		err := found.Read(t.Context(), "f", strings.NewReader(text))
		counted := 0
		for _, n := range found.Kinds {
			counted += n
		}
		if handed+len(found.Older) > counted {
			t.Errorf("%d objects and %d of older versions, but %d were counted", handed, len(found.Older), counted)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "dump f: ") {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}
