package legacy_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

const takeOverGuide = "../../templates/guides/take_over.md"

// TestGuide_TablesAreTheListsOfSettingsAndKinds holds the tables of the guide to the lists that a
// conversion goes by.
func TestGuide_TablesAreTheListsOfSettingsAndKinds(t *testing.T) {
	text, err := os.ReadFile(takeOverGuide)
	if err != nil {
		t.Fatal(err)
	}
	guide := string(text)
	for head, rows := range map[string]string{
		"| setting of Karpenter | value of its chart | with the daemon |\n|---|---|---|\n": settingRows(),
		"| objects of Karpenter | with the daemon |\n|---|---|\n":                          kindRows(),
	} {
		before, after, found := strings.Cut(guide, head)
		if !found {
			t.Fatalf("the guide has no table %q", head)
		}
		table, rest, _ := strings.Cut(after, "\n\n")
		switch {
		case *update:
			guide = before + head + rows + "\n" + rest
		case table+"\n" != rows:
			t.Errorf("-update writes the table:\n%s", rows)
		}
	}
	if *update {
		if err := os.WriteFile(takeOverGuide, []byte(guide), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func settingRows() string {
	var b strings.Builder
	for _, s := range legacy.Settings() {
		value := ""
		if s.Value != "" {
			value = "`" + s.Value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Name(), value, fate(s))
	}
	return b.String()
}

func fate(s legacy.Setting) string {
	switch {
	case s.Here != "" && s.Gate != "":
		return s.Here
	case strings.Contains(s.Here, "."):
		return "`" + s.Here + "` of its chart"
	case s.Here != "":
		return "`" + s.Here + "` of `karpenter_daemon`"
	case s.Remedy != "":
		return "not carried out: " + s.Effect + ". Remedy: " + s.Remedy
	}
	return "not carried out: " + s.Effect
}

func kindRows() string {
	var b strings.Builder
	for _, u := range legacy.UncarriedKinds() {
		fmt.Fprintf(&b, "| `%s` (`%s`) | not carried out: %s. Remedy: %s |\n", u.Kind, u.Group, u.Effect, u.Remedy)
	}
	return b.String()
}

// TestSettings_EachSaysWhatBecomesOfIt looks at the list: nothing is there twice, and what is not
// carried out says what happens instead.
func TestSettings_EachSaysWhatBecomesOfIt(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range legacy.Settings() {
		if seen[s.Name()] {
			t.Errorf("%s is there twice", s.Name())
		}
		seen[s.Name()] = true
		if (s.Here == "") == (s.Effect == "") {
			t.Errorf("%s: here %q, effect %q; want one of the two", s.Name(), s.Here, s.Effect)
		}
	}
	if len(seen) < 40 {
		t.Errorf("only %d settings", len(seen))
	}
}
