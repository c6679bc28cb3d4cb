package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

func TestChart_HasNoMarkerAndSaysThatItIsGenerated(t *testing.T) {
	files, err := chart(devVersion, "")
	if err != nil {
		t.Fatal(err)
	}
	marker := regexp.MustCompile(`chart-|chart\.example|CHART_|xx-chart|1010[0-2]|3\.14159|0\.314159`)
	for name, text := range files {
		if found := marker.FindString(text); found != "" {
			t.Errorf("%s has the marker %q", name, found)
		}
		if name != "values.schema.json" && name != ".helmignore" && !strings.Contains(text, "enerated by make generate") {
			t.Errorf("%s does not say that it is generated", name)
		}
	}
}

// Without the definitions all objects of their kinds are gone, and with these all nodes.
func TestChart_DefinitionsStayWhenTheReleaseGoes(t *testing.T) {
	files, err := chart(devVersion, "")
	if err != nil {
		t.Fatal(err)
	}
	text := files["templates/definitions.yaml"]
	if all, kept := strings.Count(text, "\nkind: CustomResourceDefinition"), strings.Count(text, "\n    helm.sh/resource-policy: keep\n"); all != 5 || kept != all {
		t.Errorf("%d of %d definitions are kept", kept, all)
	}
}

func TestGenerator_RefusesAnOptionThatNothingReplaces(t *testing.T) {
	o := marked()
	o.PodLabels = map[string]string{key + "other": "x"}
	all, err := rendered(o)
	if err != nil {
		t.Fatal(err)
	}
	g := generator{expressions: expressions(), places: places(), always: names(all)}
	if _, err := g.template(all[len(all)-1]); err == nil || !strings.Contains(err.Error(), "nothing says what replaces it") {
		t.Errorf("error %v", err)
	}
	if err := g.unused(); err == nil {
		t.Error("a marker that is never found is not reported")
	}
}

func TestWrite_RefusesWhatIsNoDigest(t *testing.T) {
	if err := write(t.TempDir(), "1.0.0", "latest"); err == nil || !strings.Contains(err.Error(), "must be sha256:") {
		t.Errorf("error %v", err)
	}
}

func TestChart_OfAReleaseHasItsVersionAndImage(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	files, err := chart("v1.2.3", digest)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Chart.yaml": "version: 1.2.3\nappVersion: \"1.2.3\"\n", "templates/_helpers.tpl": `"@` + digest + `"`, "values.yaml": install.DefaultRegistry + "/" + install.DefaultRepository + "\n"} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s lacks %q", name, want)
		}
	}
}
