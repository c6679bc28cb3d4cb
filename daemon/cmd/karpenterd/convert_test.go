package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	oldPool     = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {providerRef: {name: b}, ttlSecondsAfterEmpty: 30}\n"
	oldBeta     = "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: {spec: {requirements: [], nodeClassRef: {name: b}}}, disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 30s, expireAfter: Never}}\n"
	oldTemplate = "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: b}\nspec: {subnetSelector: {a: \"${var.cluster}\"}, securityGroupSelector: {a: b}}\n"
	// quiet converts without a warning.
	quiet = "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec: {}\n"
)

// runConvert runs the command on standard input and arguments.
func runConvert(input string, args ...string) (out, said string, err error) {
	return invoke(context.Background(), input, append([]string{"convert"}, args...)...)
}

func TestConvert_WritesManifestsToOutAndWarningsToErr(t *testing.T) {
	out, said, err := runConvert(oldPool+"---\n"+oldTemplate, "--instance-profile", "nodes")
	if err != nil {
		t.Fatal(err, said)
	}
	for _, want := range []string{"kind: EC2NodeClass", "instanceProfile: nodes", "kind: NodePool", "consolidateAfter: 30s"} {
		if !strings.Contains(out, want) {
			t.Errorf("out lacks %q:\n%s", want, out)
		}
	}
	if !strings.Contains(said, `warning: stdin: Provisioner "a": spec.ttlSecondsUntilExpired: absent`) || strings.Contains(out, "warning") {
		t.Errorf("said %s", said)
	}
}

func TestConvert_HCLKeepsTemplates(t *testing.T) {
	out, said, err := runConvert(oldPool+"---\n"+oldTemplate, "--hcl", "--role", "nodes", "-")
	if err != nil {
		t.Fatal(err, said)
	}
	for _, want := range []string{`resource "karpenter_node_pool" "a" {`, "karpenter_node_class.b.name", `a = "${var.cluster}"`, `role `} {
		if !strings.Contains(out, want) {
			t.Errorf("out lacks %q:\n%s", want, out)
		}
	}
}

func TestConvert_WritesNothingAfterAnError(t *testing.T) {
	out, said, err := runConvert(oldPool + "---\n" + oldTemplate)
	if err == nil || out != "" || !strings.Contains(said, `error: stdin: AWSNodeTemplate "b": spec.instanceProfile: missing`) {
		t.Errorf("%v\nout %s\nsaid %s", err, out, said)
	}
	if out, _, err := runConvert("kind: ConfigMap\napiVersion: v1\nmetadata: {name: x}\n"); err == nil || out != "" || !strings.Contains(err.Error(), "no object of Karpenter") {
		t.Errorf("%v\nout %s", err, out)
	}
}

func TestConvert_StrictTakesWarningsForErrors(t *testing.T) {
	if out, said, err := runConvert(oldPool+"---\n"+oldTemplate, "--strict", "--role", "nodes"); err == nil || out != "" || !strings.Contains(err.Error(), "--strict") || said == "" {
		t.Errorf("%v\nout %s\nsaid %s", err, out, said)
	}
	if out, said, err := runConvert(oldBeta+"---\n"+quiet, "--strict"); err != nil || out == "" {
		t.Errorf("%v\nout %s\nsaid %s", err, out, said)
	}
}

func TestConvert_ReadsFilesAndFolders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a/pool.yaml": oldPool, "b.yml": oldTemplate, "values.yaml": "replicas: 1\n", ".git/c.yaml": "karpenter: [", "README.md": "x"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	byFolder, said, err := runConvert("", "--role", "nodes", dir)
	if err != nil {
		t.Fatal(err, said)
	}
	if byFile, _, err := runConvert("", "--role", "nodes", filepath.Join(dir, "b.yml"), filepath.Join(dir, "a", "pool.yaml")); err != nil || byFile != byFolder {
		t.Errorf("%v\nby file:\n%s\nby folder:\n%s", err, byFile, byFolder)
	}
	for _, want := range []string{"skipped: " + filepath.Join(dir, "values.yaml") + " has no object of Karpenter\n", "skipped: " + filepath.Join(dir, "README.md") + " is not .yaml, .yml or .json\n"} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, said)
		}
	}
	if _, _, err := runConvert(oldPool, "--role", "a", "--instance-profile", "b"); err == nil || !strings.Contains(err.Error(), "give one of them") {
		t.Errorf("a role and an instance profile: %v", err)
	}
	if _, _, err := runConvert("", filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a file that does not exist is no error")
	}
	if _, _, err := runConvert("", t.TempDir()); err == nil || !strings.Contains(err.Error(), "name the files") {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestConvert_TakesFoldersAsPeopleHaveThem converts a folder with all that stands beside manifests
// in repositories.
func TestConvert_TakesFoldersAsPeopleHaveThem(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"base/pool.yaml":                  oldPool + "---\n---\n# nothing\n---\n" + oldTemplate,
		"Chart.yaml":                      "apiVersion: v2\nname: karpenter\nversion: 0.1.0\ndependencies: [{name: karpenter, version: v0.27.6}]\n",
		"values.yaml":                     "settings: {clusterName: prod}\nserviceAccount: {annotations: {eks.amazonaws.com/role-arn: arn:aws:iam::111122223333:role/karpenter}}\n",
		"base/kustomization.yaml":         "resources: [pool.yaml]\nnamespace: karpenter\n",
		"overlay/kustomization.yaml":      "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../base]\npatches: [{path: patch.yaml}]\n",
		"overlay/patch.yaml":              "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: a}\nspec: {weight: 5}\n",
		"cloudformation.yaml":             "AWSTemplateFormatVersion: '2010-09-09'\nResources:\n  R:\n    Type: AWS::IAM::Role\n    Properties:\n      RoleName: !Sub 'KarpenterNodeRole-${ClusterName}'\n      Arn: !GetAtt Karpenter.Arn\n      Both: !Join [':', [a, !Ref B]]\n",
		"controller-trust-policy.json":    "{\"Version\": \"2012-10-17\", \"Statement\": [{\"Condition\": {\"StringEquals\": {\"sub\": \"system:serviceaccount:karpenter:karpenter\"}}}]}",
		"tabs.json":                       "{\n\t\"karpenter\": true\n}",
		"templates/deployment.yaml":       "{{- if .Values.karpenter }}\napiVersion: apps/v1\nkind: Deployment\nspec: {{ toYaml .Values.spec }}\n{{- end }}\n",
		"empty.yaml":                      "",
		"main.tf":                         "resource \"kubectl_manifest\" \"a\" {\n yaml_body = <<EOT\napiVersion: karpenter.sh/v1\nEOT\n}\n",
		"other.yaml":                      "apiVersion: karpenter.azure.com/v1beta1\nkind: AKSNodeClass\nmetadata: {name: a}\n---\n- just\n- a list\n",
		".github/workflows/karpenter.yml": "apiVersion: karpenter.sh/v1\nkind: [",
		".sops.yaml":                      "apiVersion: karpenter.sh/v1\nkind: [",
	} {
		write(name, text)
	}
	for link, to := range map[string]string{"again.yaml": "base/pool.yaml", "nowhere.yaml": "gone.yaml", "loop": ".", "base2": "base"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	out, said, err := runConvert("", "--role", "nodes", dir)
	if err != nil || strings.Count(out, "apiVersion: karpenter") != 2 {
		t.Fatal(err, said, out)
	}
	for _, name := range []string{"Chart.yaml", "cloudformation.yaml", "controller-trust-policy.json", "tabs.json", "templates/deployment.yaml", "empty.yaml", "main.tf", "other.yaml", "nowhere.yaml"} {
		if strings.Count(said, "skipped: "+filepath.Join(dir, name)+" ") != 1 {
			t.Errorf("%s is not skipped once", name)
		}
	}
	if values := filepath.Join(dir, "values.yaml"); strings.Contains(said, "skipped: "+values) || !strings.Contains(said, "warning: "+values+`: document 1: the daemon has these settings`) {
		t.Errorf("values.yaml, whose settings are read:\n%s", said)
	}
	if want := "warning: " + filepath.Join(dir, "overlay", "patch.yaml") + `: Provisioner "a": is left out, as it is a patch in ` + filepath.Join(dir, "overlay", "kustomization.yaml"); !strings.Contains(said, want) || strings.Contains(said, "error:") {
		t.Error(said)
	}
}

// folderOf writes files into a folder.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// execConvert runs the command as users do, for its exit code.
func execConvert(args ...string) (code int, out, said string) {
	var outs, errs strings.Builder
	code = execute(context.Background(), append([]string{"karpenterd", "convert"}, args...), streams{in: strings.NewReader(""), out: &outs, err: &errs}, func(string) string { return "" })
	return code, outs.String(), errs.String()
}

const (
	helmPool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nspec:\n  requirements: {{ toYaml .Values.requirements | nindent 4 }}\n"
	loopPool = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: ${name}}\nspec:\n  requirements:\n%{ for zone in zones ~}\n  - ${zone}\n%{ endfor ~}\n"
)

// A template that another program renders is no manifest yet. In a folder it stands beside
// manifests, and keeps none of them from being converted; a file that is named is meant.
func TestConvert_TemplatesInAFolderAreLeftOutAndTheExitCodeSaysSo(t *testing.T) {
	dir := folderOf(t, map[string]string{"pool.yaml": oldPool, "class.yaml": oldTemplate, "templates/pool.yaml": helmPool, "pool.yml.tpl": loopPool})
	for _, flag := range []string{"--hcl=false", "--hcl"} {
		plain, whole, _ := execConvert(flag, "--role", "nodes", filepath.Join(dir, "pool.yaml"), filepath.Join(dir, "class.yaml"))
		code, out, said := execConvert(flag, "--role", "nodes", dir)
		if plain != exitDone || code != exitPartly || out == "" || out != whole {
			t.Errorf("%s: exit codes %d and %d, said %s:\n%s", flag, plain, code, said, out)
		}
		for _, want := range []string{
			"left out: " + filepath.Join(dir, "templates", "pool.yaml") + ": document 1: no YAML, as line 4 is a template of Helm: requirements: {{ toYaml .Values.requirements | nindent 4 }}; render it first with helm template\n",
			"left out: " + filepath.Join(dir, "pool.yml.tpl") + ": document 1: no YAML",
			"render it first with the function templatefile of Terraform\n",
			"karpenterd: convert: not complete: 2 documents are left out\n",
		} {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q is not said:\n%s", flag, want, said)
			}
		}
	}
	if code, out, said := execConvert("--role", "nodes", filepath.Join(dir, "pool.yaml"), filepath.Join(dir, "class.yaml"), filepath.Join(dir, "pool.yml.tpl")); code != exitFailed || out != "" || !strings.Contains(said, "error: "+filepath.Join(dir, "pool.yml.tpl")) {
		t.Errorf("a template that is named: %d, said %s:\n%s", code, said, out)
	}
	if code, out, _ := execConvert("--strict", folderOf(t, map[string]string{"a.yaml": oldBeta, "b.yaml": quiet, "c.yaml": helmPool})); code != exitFailed || out != "" {
		t.Errorf("--strict: %d:\n%s", code, out)
	}
}

// A manifest that somebody has mistyped is no template, whatever its scripts and comments hold.
func TestConvert_AMistypedManifestIsAnErrorAndNoTemplate(t *testing.T) {
	for _, comment := range []string{"# curl -w \"%{http_code}\"\n", "# see {{ .Values }}\n"} {
		dir := folderOf(t, map[string]string{"a.yaml": oldBeta, "b.yaml": comment + "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: b\n"})
		if code, out, said := execConvert("--role", "nodes", dir); code != exitFailed || out != "" || !strings.Contains(said, "error: "+filepath.Join(dir, "b.yaml")) {
			t.Errorf("%s: %d, said %s:\n%s", comment, code, said, out)
		}
	}
}

// What is left out must not be missed in silence: settings of the kubelet have no place without
// the class, and nothing at all is no conversion.
func TestConvert_NothingIsWrittenWhereWhatIsLeftOutIsNeeded(t *testing.T) {
	kubelet := strings.Replace(oldPool, "spec: {", "spec: {kubeletConfiguration: {maxPods: 20}, ", 1)
	class := "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {name: {{ .Values.name }}}\n"
	for name, files := range map[string]map[string]string{"the class": {"pool.yaml": kubelet, "class.yaml": class}, "all": {"class.yaml": class}} {
		if code, out, said := execConvert("--role", "nodes", folderOf(t, files)); code != exitFailed || out != "" || !strings.Contains(said, "left out: ") || !strings.Contains(said, "nothing is written") {
			t.Errorf("%s: %d, said %s:\n%s", name, code, said, out)
		}
	}
}

// Folders have the objects of several clusters, or examples of which each is whole by itself: one
// name is there twice. All are written, each pool with the class of its own folder or file.
func TestConvert_OneNameInSeveralFilesIsWrittenOftenAndTheExitCodeSaysSo(t *testing.T) {
	dir := folderOf(t, map[string]string{
		"dev/pool.yaml":  strings.Replace(oldPool, "spec: {", "spec: {kubeletConfiguration: {maxPods: 10}, ", 1),
		"dev/class.yaml": strings.Replace(oldTemplate, "a: b", "a: dev", 1),
		"pool.yaml":      strings.Replace(oldPool, "spec: {", "spec: {kubeletConfiguration: {maxPods: 20}, ", 1),
		"class.yaml":     strings.Replace(oldTemplate, "a: b", "a: prod", 1),
	})
	code, out, said := execConvert("--role", "nodes", dir)
	if code != exitPartly || strings.Count(out, "\nkind: NodePool\n") != 2 || strings.Count(out, "\nkind: EC2NodeClass\n") != 2 {
		t.Fatalf("%d, said %s:\n%s", code, said, out)
	}
	for _, want := range []string{
		"twice: " + filepath.Join(dir, "pool.yaml") + `: Provisioner "a": metadata.name: Provisioner "a" of ` + filepath.Join(dir, "dev", "pool.yaml") + " has the same name, and a cluster has one of them; convert the objects of each cluster by themselves, or remove one of the two\n",
		"karpenterd: convert: not complete: of 2 names there are several objects, and all are written\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said:\n%s", want, said)
		}
	}
	for folder, n := range map[string]string{"dev": "10", "prod": "20"} {
		if of := documentWith(out, "a: "+folder); !strings.Contains(of, "maxPods: "+n+"\n") {
			t.Errorf("the class of %s lacks the kubelet of its pool:\n%s", folder, of)
		}
	}
	if of := documentWith(out, "a: dev"); !strings.HasPrefix(of, "# From "+filepath.Join(dir, "dev", "class.yaml")+".\n") {
		t.Errorf("the file is not named:\n%s", of)
	}
	code, out, _ = execConvert("--hcl", "--role", "nodes", dir)
	if code != exitPartly {
		t.Errorf("%d:\n%s", code, out)
	}
	for _, want := range []string{"# From " + filepath.Join(dir, "dev", "class.yaml") + ".\n", `resource "karpenter_node_class" "b" {`, `resource "karpenter_node_class" "b_2" {`, `resource "karpenter_node_pool" "a_2" {`, "karpenter_node_class.b.name", "karpenter_node_class.b_2.name"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("%q is not there once:\n%s", want, out)
		}
	}
}

// Two clusters may have one pool word for word, and other classes: each class gets what the pool has.
func TestConvert_APoolThatTwoFoldersHaveIsWrittenForEachOfTheirClasses(t *testing.T) {
	pool := strings.Replace(oldPool, "spec: {", "spec: {kubeletConfiguration: {maxPods: 10}, ", 1)
	files := map[string]string{"dev/pool.yaml": pool, "dev/class.yaml": oldTemplate, "prod/pool.yaml": pool, "prod/class.yaml": strings.Replace(oldTemplate, "a: b", "a: c", 1)}
	code, out, said := execConvert("--role", "nodes", folderOf(t, files))
	if code != exitPartly || strings.Count(out, "\nkind: NodePool\n") != 2 || strings.Count(out, "maxPods: 10\n") != 2 {
		t.Errorf("%d, said %s:\n%s", code, said, out)
	}
	files["prod/class.yaml"] = oldTemplate
	code, out, said = execConvert("--role", "nodes", folderOf(t, files))
	if code != exitDone || strings.Count(out, "\nkind: NodePool\n") != 1 || strings.Count(out, "maxPods: 10\n") != 1 {
		t.Errorf("with one class: %d, said %s:\n%s", code, said, out)
	}
}

// Two objects of one name in one file are a mistake, whatever other files have.
func TestConvert_OneNameTwiceInAFileIsAnErrorBesideOtherFiles(t *testing.T) {
	pool := func(weight string) string {
		return "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {weight: " + weight + ", template: {spec: {requirements: [], nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: b}}}, disruption: {consolidateAfter: 1m}}\n"
	}
	code, out, said := execConvert(folderOf(t, map[string]string{"a.yaml": pool("1"), "b.yaml": pool("2") + "---\n" + pool("3")}))
	if code != exitFailed || out != "" || !strings.Contains(said, "b.yaml has the same name; convert the objects of each cluster by themselves") {
		t.Errorf("%d, said %s:\n%s", code, said, out)
	}
}

// documentWith is the document that has a text.
func documentWith(out, text string) string {
	for of := range strings.SplitSeq(out, "---\n") {
		if strings.Contains(of, text) {
			return of
		}
	}
	return ""
}

// Objects of v1 and v1beta1 with one name are one object of a cluster, before and after. Only the
// first is imported, as the second would be the same.
func TestConvert_AnObjectInTwoVersionsIsImportedOnce(t *testing.T) {
	current := "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec: {role: r, amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}\n"
	older := "apiVersion: karpenter.k8s.aws/v1beta1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec: {role: r, amiFamily: AL2023, subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}\n"
	dir := folderOf(t, map[string]string{"v1/class.yaml": current, "v1beta1/class.yaml": older})
	code, out, said := execConvert("--hcl", dir)
	if code != exitPartly || strings.Count(out, "resource ") != 2 || strings.Count(out, "import {") != 1 {
		t.Errorf("%d, said %s:\n%s", code, said, out)
	}
	code, out, said = execConvert(dir)
	if code != exitPartly || strings.Count(out, "kind: EC2NodeClass") != 2 || strings.Count(out, "# From ") != 2 {
		t.Errorf("%d, said %s:\n%s", code, said, out)
	}
	if code, out, _ := execConvert("--strict", "--hcl", dir); code != exitFailed || out != "" {
		t.Errorf("--strict: %d:\n%s", code, out)
	}
}

// Terraform makes manifests of templates, which lie in folders with a second ending.
func TestConvert_TemplatesOfTerraformInAFolderAreManifests(t *testing.T) {
	class := func(name string) string {
		return "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: " + name + "}\nspec: {role: \"${role}\", amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}\n"
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"a.yaml.tpl": class("a"), "b.yml.tftpl": class("b"), "c.yaml.tmpl": class("c"), "d.json.tpl": "{}", "values.tpl": "x", "user-data.sh.tpl": "karpenter: ["} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, said, err := runConvert("", "--hcl", dir)
	if err != nil || strings.Count(out, "resource \"karpenter_node_class\"") != 3 || !strings.Contains(out, `"${var.role}"`) {
		t.Error(err, said, out)
	}
	if !strings.Contains(said, "user-data.sh.tpl and 1 more files below") {
		t.Error(said)
	}
}

func pack(t *testing.T, text string) []byte {
	t.Helper()
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.Bytes()
}

// A packed file in a folder may be anything, and a file that is named is meant.
func TestConvert_PackedFilesThatCannotBeReadAreSkippedInFoldersAlone(t *testing.T) {
	dir := t.TempDir()
	long := strings.Repeat("#", 60)
	for name, data := range map[string][]byte{"a.yaml": []byte(quiet[:20]), "b.yaml.gz": pack(t, long)[:12], "c.yaml.gz": pack(t, long+long), "d.yaml.gz": pack(t, long), "e.yaml.gz": pack(t, long)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, skipped, err := (&reading{limit: 100}).sources([]string{dir}, nil)
	if err != nil || len(all) != 2 || all[1].Name != filepath.Join(dir, "d.yaml.gz") || len(skipped) != 3 {
		t.Fatal(err, all, skipped)
	}
	for i, want := range []string{"b.yaml.gz cannot be unpacked", "c.yaml.gz has more than", "e.yaml.gz has, with the packed files before it, more than"} {
		if !strings.Contains(skipped[i], want) {
			t.Errorf("%s, want %s", skipped[i], want)
		}
	}
	for _, name := range []string{"b.yaml.gz", "c.yaml.gz"} {
		if _, _, err := (&reading{limit: 100}).sources([]string{filepath.Join(dir, name)}, nil); err == nil {
			t.Errorf("%s is no error, and it is named", name)
		}
	}
}

// kustomize takes a file of this name, too.
func TestConvert_AKustomizationWithoutAnEndingNamesItsPatches(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"Kustomization": "patches: [{path: pool.yaml}]\n", "pool.yaml": oldPool, "class.yaml": quiet} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, said, err := runConvert("", dir); err != nil || !strings.Contains(said, "is left out, as it is a patch in "+filepath.Join(dir, "Kustomization")) {
		t.Error(err, said)
	}
}

// What gzip has packed is read as if it were not, from files, folders and standard input.
func TestConvert_ReadsWhatGzipHasPacked(t *testing.T) {
	packed := pack(t, quiet)
	dir := t.TempDir()
	for name, data := range map[string][]byte{"a.yaml.gz": packed, "notes.gz": packed} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, _, err := runConvert(quiet)
	if err != nil {
		t.Fatal(err)
	}
	for name, arg := range map[string]string{"a folder": dir, "a file": filepath.Join(dir, "a.yaml.gz"), "standard input": "-"} {
		if out, said, err := runConvert(string(packed), arg); err != nil || out != want {
			t.Errorf("%s: %v, said %s:\n%s", name, err, said, out)
		}
	}
	if _, _, err := runConvert(string(packed)[:10]); err == nil {
		t.Error("a cut file is no error")
	}
}

func TestConvert_HCLRefersToTheDaemonThatIsNamed(t *testing.T) {
	current := "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: b}\nspec: {role: r, amiSelectorTerms: [{alias: al2023@latest}], subnetSelectorTerms: [{id: subnet-1}], securityGroupSelectorTerms: [{id: sg-1}]}\n"
	out, said, err := runConvert(current, "--hcl", "--daemon", "karpenter_daemon.this.id")
	if err != nil || !strings.Contains(out, "= karpenter_daemon.this.id\n") || strings.Contains(out, "variable") || said != "" {
		t.Errorf("%v, said %q:\n%s", err, said, out)
	}
	if out, _, err = runConvert(current, "--hcl"); err != nil || !strings.Contains(out, "= var.karpenter_daemon\n") || !strings.Contains(out, `variable "karpenter_daemon" {`) {
		t.Errorf("%v:\n%s", err, out)
	}
	if _, _, err := runConvert(current, "--daemon", "x"); err == nil {
		t.Error("--daemon without --hcl is no error")
	}
}
