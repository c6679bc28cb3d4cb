package archtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"
)

// release is the part of .goreleaser.yml that the registries depend on.
type release struct {
	Version     int    `json:"version"`
	ProjectName string `json:"project_name"`
	Builds      []struct {
		ID      string   `json:"id"`
		Main    string   `json:"main"`
		Binary  string   `json:"binary"`
		Env     []string `json:"env"`
		Ldflags []string `json:"ldflags"`
		Goos    []string `json:"goos"`
		Goarch  []string `json:"goarch"`
	} `json:"builds"`
	Archives []struct {
		IDs          []string `json:"ids"`
		Formats      []string `json:"formats"`
		NameTemplate string   `json:"name_template"`
	} `json:"archives"`
	Checksum struct {
		NameTemplate string      `json:"name_template"`
		Algorithm    string      `json:"algorithm"`
		IDs          []string    `json:"ids"`
		ExtraFiles   []extraFile `json:"extra_files"`
	} `json:"checksum"`
	Signs []struct {
		Cmd       string   `json:"cmd"`
		Artifacts string   `json:"artifacts"`
		Args      []string `json:"args"`
	} `json:"signs"`
	Release struct {
		ExtraFiles []extraFile `json:"extra_files"`
	} `json:"release"`
}

type extraFile struct {
	Glob         string `json:"glob"`
	NameTemplate string `json:"name_template"`
}

func readRelease(t *testing.T) release {
	t.Helper()
	var r release
	if err := yaml.Unmarshal([]byte(atRoot(t, ".goreleaser.yml")), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// name expands a template of version 1.2.3 for linux/arm64.
func (r release) name(t *testing.T, text string) string {
	t.Helper()
	tmpl, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tmpl.Execute(&out, map[string]string{"ProjectName": r.ProjectName, "Version": "1.2.3", "Os": "linux", "Arch": "arm64"}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The names are those of the registries' publishing conventions: a release
// whose files are called otherwise is published and then not found.
func TestRelease_FilesAreNamedAsTheRegistriesExpect(t *testing.T) {
	r := readRelease(t)
	if r.Version != 2 || len(r.Builds) != 2 || len(r.Archives) != 2 {
		t.Fatalf("version %d, %d builds, %d archives; want 2 of each", r.Version, len(r.Builds), len(r.Archives))
	}
	got := map[string]string{
		"provider binary":    r.name(t, r.Builds[0].Binary),
		"provider archive":   r.name(t, r.Archives[0].NameTemplate) + "." + strings.Join(r.Archives[0].Formats, ","),
		"daemon binary":      r.name(t, r.Builds[1].Binary),
		"daemon archive":     r.name(t, r.Archives[1].NameTemplate) + "." + strings.Join(r.Archives[1].Formats, ","),
		"checksums":          r.name(t, r.Checksum.NameTemplate),
		"checksum of":        extraFileNames(t, r, r.Checksum.ExtraFiles),
		"released with":      extraFileNames(t, r, r.Release.ExtraFiles),
		"checksum algorithm": r.Checksum.Algorithm,
	}
	want := map[string]string{
		"provider binary":    "terraform-provider-karpenter_v1.2.3",
		"provider archive":   "terraform-provider-karpenter_1.2.3_linux_arm64.zip",
		"daemon binary":      "karpenterd",
		"daemon archive":     "karpenterd_1.2.3_linux_arm64.tar.gz",
		"checksums":          "terraform-provider-karpenter_1.2.3_SHA256SUMS",
		"checksum of":        "terraform-registry-manifest.json as terraform-provider-karpenter_1.2.3_manifest.json, bin/chart/*.tgz as ",
		"released with":      "terraform-registry-manifest.json as terraform-provider-karpenter_1.2.3_manifest.json, dist/krew/karpenter.yaml as , bin/chart/*.tgz as ",
		"checksum algorithm": "sha256",
	}
	for what, w := range want {
		if got[what] != w {
			t.Errorf("%s is %q, want %q", what, got[what], w)
		}
	}
	// Without the list, the signature and what is made of the checksums would be among them.
	if !slices.Equal(r.Checksum.IDs, []string{"provider", "daemon", "bills"}) {
		t.Errorf("checksums of %v, want those of the archives and their bills", r.Checksum.IDs)
	}
	if len(r.Signs) == 0 || r.Signs[0].Cmd != "gpg" || r.Signs[0].Artifacts != "checksum" || !slices.Contains(r.Signs[0].Args, "--detach-sign") || slices.Contains(r.Signs[0].Args, "--armor") {
		t.Errorf("signs = %+v, want a binary detached signature of the checksums", r.Signs)
	}
}

func extraFileNames(t *testing.T, r release, files []extraFile) string {
	t.Helper()
	names := make([]string, 0, len(files))
	for _, f := range files {
		names = append(names, f.Glob+" as "+r.name(t, f.NameTemplate))
	}
	return strings.Join(names, ", ")
}

// A release of the provider without the digest would deploy an image that nobody has pushed.
// The linker ignores a variable that is not there, and GoReleaser fails without the
// environment's.
func TestRelease_ProviderAndManifestsPinTheImageOfTheDaemon(t *testing.T) {
	text := atRoot(t, "main.go")
	for _, b := range readRelease(t).Builds { // the daemon's command line writes manifests
		if flags := strings.Join(b.Ldflags, " "); !strings.Contains(flags, "-X main.imageDigest={{ .Env.IMAGE_DIGEST }}") {
			t.Errorf("ldflags of the %s %q lack the digest", b.ID, flags)
		}
	}
	hasDigest := regexp.MustCompile(`(?m)^(var |\t)imageDigest\s+string`)
	if !hasDigest.MatchString(atRoot(t, "daemon/cmd/karpenterd/main.go")) {
		t.Error("the daemon has no variable imageDigest")
	}
	if !hasDigest.MatchString(text) || !strings.Contains(text, "provider.New(version, imageDigest)") {
		t.Error("main.go has no variable imageDigest that the provider gets")
	}
}

// A build whose main package is gone, or whose version variable is, still
// succeeds in part: the linker ignores an unknown name.
func TestRelease_BuildsArePureGoAndSayTheirVersion(t *testing.T) {
	hasVersion := regexp.MustCompile(`(?m)^(var |\t)version\s+=`)
	for _, b := range readRelease(t).Builds {
		if !slices.Contains(b.Env, "CGO_ENABLED=0") || !strings.Contains(strings.Join(b.Ldflags, " "), "-X main.version=") {
			t.Errorf("%s: env %v, ldflags %v; want no cgo and the version", b.ID, b.Env, b.Ldflags)
		}
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(b.Main), "main.go"))
		if err != nil {
			t.Errorf("%s: %v", b.ID, err)
			continue
		}
		if !hasVersion.Match(text) {
			t.Errorf("%s: %s/main.go has no variable version for the linker to set", b.ID, b.Main)
		}
	}
}

func TestRelease_ManifestSaysProtocolSix(t *testing.T) {
	var manifest struct {
		Version  int `json:"version"`
		Metadata struct {
			ProtocolVersions []string `json:"protocol_versions"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal([]byte(atRoot(t, "terraform-registry-manifest.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Version != 1 || !slices.Equal(manifest.Metadata.ProtocolVersions, []string{"6.0"}) {
		t.Errorf("manifest = %+v, want version 1 and protocol 6.0", manifest)
	}
}
