//go:build lab && peer

package peer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// release is the source of the controller that tools/peer pins, in the module
// cache.
type release struct{ dir, version string }

func findRelease(t *testing.T) release {
	t.Helper()
	dir, version, err := toolchain.Source(t.Context(), toolchain.KarpenterAWS)
	if err != nil {
		t.Fatal(err)
	}
	return release{dir, version}
}

func (r release) read(t *testing.T, path ...string) []byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{r.dir}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// definitions are the CRDs that the release ships.
func (r release) definitions(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	files, err := os.ReadDir(filepath.Join(r.dir, "pkg", "apis", "crds"))
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, f := range files {
		out = append(out, objects(t, r.read(t, "pkg", "apis", "crds", f.Name()))...)
	}
	return out
}

// helpers stand for the chart's own: those compute names, labels and selectors
// with most of Helm's function library.
const helpers = `
{{- define "karpenter.fullname" }}karpenter{{ end }}
{{- define "karpenter.serviceAccountName" }}karpenter{{ end }}
{{- define "karpenter.selectorLabels" }}app.kubernetes.io/name: karpenter{{ end }}
{{- define "karpenter.labels" }}app.kubernetes.io/name: karpenter{{ end }}
{{- define "karpenter.controller.containerName" }}controller{{ end }}
{{- define "karpenter.controller.image" }}{{ .Values.controller.image.repository }}:{{ .Chart.AppVersion }}{{ end }}
{{- define "karpenter.patchAffinity" }}{{ end }}
{{- define "karpenter.dra" }}{"draNVIDIAGPU":false,"draEFA":false,"ignoreDRARequests":true}{{ end }}`

// chart is the release's chart with values that an installation sets.
type chart struct {
	release
	values map[string]any
	about  map[string]any // Chart.yaml
}

func (r release) chart(t *testing.T) chart {
	t.Helper()
	c := chart{release: r}
	if err := yaml.Unmarshal(r.read(t, "charts", "karpenter", "values.yaml"), &c.values); err != nil {
		t.Fatal(err)
	}
	var about map[string]any
	if err := yaml.Unmarshal(r.read(t, "charts", "karpenter", "Chart.yaml"), &about); err != nil {
		t.Fatal(err)
	}
	c.about = map[string]any{"AppVersion": about["appVersion"]}
	return c
}

// set is `--set path=value`.
func (c chart) set(t *testing.T, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(c.values, value, path...); err != nil {
		t.Fatal(err)
	}
}

// image is the repository that the chart takes the controller's image from.
func (c chart) image(t *testing.T) string {
	t.Helper()
	repository, ok, err := unstructured.NestedString(c.values, "controller", "image", "repository")
	if err != nil || !ok {
		t.Fatal("chart has no image repository:", err)
	}
	return repository
}

// render gives the objects of the chart that the controller runs with, its
// Deployment last.
func (c chart) render(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for _, file := range []string{"serviceaccount", "clusterrole-core", "clusterrole", "role", "rolebinding", "deployment"} {
		text := helpers + string(c.read(t, "charts", "karpenter", "templates", file+".yaml"))
		page := template.New(file)
		page.Funcs(template.FuncMap{
			"include": func(name string, data any) (string, error) {
				var b bytes.Buffer
				err := page.ExecuteTemplate(&b, name, data)
				return b.String(), err
			},
			"nindent": func(n int, s string) string {
				return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", n))
			},
			"toYaml": func(v any) (string, error) {
				raw, err := yaml.Marshal(v)
				return strings.TrimSpace(string(raw)), err
			},
			"fromJson": func(s string) (map[string]any, error) {
				var v map[string]any
				return v, json.Unmarshal([]byte(s), &v)
			},
			"fail": func(why string) (string, error) { return "", errors.New(why) },
			"join": func(separator string, list []any) string {
				return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", separator)
			},
			"required": func(_ string, v any) any { return v },
			"tpl":      func(s string, _ any) string { return s },
			"toString": func(v any) string { return fmt.Sprint(v) },
			"quote":    func(v any) string { return fmt.Sprintf("%q", v) },
		})
		var b bytes.Buffer
		data := map[string]any{"Values": c.values, "Chart": c.about, "Release": map[string]any{"Namespace": namespace}}
		if _, err := page.Parse(text); err != nil {
			t.Fatal(err)
		}
		if err := page.Execute(&b, data); err != nil {
			t.Fatal(err)
		}
		out = append(out, objects(t, b.Bytes())...)
	}
	return out
}

// objects reads the documents of a YAML file.
func objects(t *testing.T, text []byte) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for document := range bytes.SplitSeq(append([]byte("\n"), text...), []byte("\n---")) {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
	return out
}
