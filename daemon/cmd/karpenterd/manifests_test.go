package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install/values"
)

// needed are flags with which manifests and iam-policy have all that they need.
func neededFlags() []string {
	return []string{"manifests", "--cluster-name=prod", "--region=us-west-2", "--image=mirror.example.com/k:1.0.0"}
}

func TestManifests_AreObjectsInTheOrderInWhichTheyAreApplied(t *testing.T) {
	text, _, err := invoke(t.Context(), "", neededFlags()...)
	if err != nil {
		t.Fatal(err)
	}
	if again, _, _ := invoke(t.Context(), "", neededFlags()...); again != text {
		t.Error("a second run writes something else")
	}
	var kinds []string
	for _, document := range strings.Split(text, "---\n")[1:] {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		if _, has := o["status"]; has {
			t.Errorf("%v has a status", o["metadata"])
		}
		kind, _ := o["kind"].(string)
		kinds = append(kinds, kind)
	}
	want := "CustomResourceDefinition CustomResourceDefinition CustomResourceDefinition Namespace ServiceAccount ClusterRole ClusterRoleBinding Role RoleBinding Role RoleBinding ConfigMap Service PodDisruptionBudget Deployment"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("kinds %s, want %s", got, want)
	}
}

// manifestsOf are the objects of a command line, as text.
func manifestsOf(t *testing.T, input string, args ...string) string {
	t.Helper()
	text, _, err := invoke(t.Context(), input, args...)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return text
}

func TestManifests_FlagsCountMoreThanFilesAndLaterFilesMoreThanEarlier(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := file("a.yaml", "settings: {clusterName: a, region: us-west-2, interruptionQueue: a}\nreplicas: 4\ncontroller: {image: {tag: \"1\"}}\ndefinitions: {legacy: true}")
	second := file("b.yaml", "settings: {clusterName: b}\nlogLevel: debug")
	text := manifestsOf(t, "settings: {nodeCost: \"0.01\"}", "manifests", "-f", first, "-f", second, "-f", "-", "--queue-name=c", "-n", "nodes", "--role-arn=arn:aws:iam::123456789012:role/r")
	for _, want := range []string{"value: b\n", "value: debug\n", "value: c\n", "value: \"0.01\"\n", "replicas: 4\n", "namespace: nodes\n", "role/r\n", "image: ghcr.io/karpenterd/karpenterd:1\n", "name: provisioners.karpenter.sh\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	text = manifestsOf(t, "", "manifests", "-f", first, "--replicas=1", "--definitions=false", "--image=mirror.example.com/k:2", "--service-account=launcher")
	for _, want := range []string{"replicas: 1\n", "image: mirror.example.com/k:2\n", "serviceAccountName: launcher\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q", want)
		}
	}
	if strings.Contains(text, "CustomResourceDefinition") {
		t.Error("there are definitions")
	}
	if len(manifestsOf(t, "", "manifests", "-f", first, "--legacy=false")) >= len(manifestsOf(t, "", "manifests", "-f", first)) {
		t.Error("--legacy=false leaves nothing out")
	}
}

func TestManifests_DefaultsAreAValuesFile(t *testing.T) {
	text := manifestsOf(t, "", "manifests", "--defaults")
	if v, err := values.Read([]byte(text)); err != nil || v.LogLevel != "info" || !strings.Contains(text, "# Name of the EKS cluster. Required.\n") {
		t.Errorf("%v: %v\n%s", err, v, text)
	}
}

// A command line that is wrong says in one place what is wrong, by the field and its flag, and
// writes nothing.
func TestManifests_SayWhatIsWrongByFieldAndFlag(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("setings: {}"), 0o600); err != nil {
		t.Fatal(err)
	}
	scheduler := filepath.Join(t.TempDir(), "scheduler.yaml")
	if err := os.WriteFile(scheduler, []byte("settings: {schedulerConfig: \"[\"}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
		code int
	}{
		{[]string{"--region=us-west-2", "--image=a.b/c:1"}, `settings.clusterName (--cluster-name): cluster name "": has 0 characters`, exitUsage},
		{[]string{"--cluster-name=a", "--image=a.b/c:1"}, `settings.region (--region): "": must be a region such as us-west-2`, exitUsage},
		{[]string{"--cluster-name=a", "--region=us-west-2"}, "controller.image (--image): no image to deploy: this build is no release", exitUsage},
		{nil, "settings.clusterName (--cluster-name): cluster name \"\": has 0 characters and must have 1 to 100\nsettings.region (--region): ", exitUsage},
		{[]string{"--cluster-name=a", "--region=us-west-2", "--image=a.b/c:1", "--replicas=0"}, "replicas: 0: must be 1 or more", exitUsage},
		{[]string{"--cluster-name=a", "--region=us-west-2", "--image=a.b/c:1", "-n", "A B"}, `namespace: "A B": a lowercase`, exitUsage},
		{[]string{"--role-arn=x", "--cluster-name=a", "--region=us-west-2", "--image=a.b/c:1"}, `serviceAccount.roleARN (--role-arn): role ARN "x"`, exitUsage},
		{[]string{"-f", bad}, "setings: no such field: did you mean settings?", exitUsage},
		{[]string{"-f", scheduler, "--cluster-name=a", "--region=us-west-2", "--image=a.b/c:1"}, "settings.schedulerConfig: ", exitUsage},
		{[]string{"-f", "-", "-f", "-"}, "standard input can be read once", exitUsage},
		{[]string{"-f", filepath.Join(t.TempDir(), "none.yaml")}, "none.yaml", exitFailed},
		{[]string{"--cluster=a"}, "unknown flag: --cluster; ", exitUsage},
		{[]string{"--cluster-nam=a"}, "did you mean --cluster-name?", exitUsage},
		{[]string{"values.yaml"}, `unexpected argument "values.yaml": give flags only; values are in the files of -f`, exitUsage},
	} {
		code, out, said := start(t, append([]string{"karpenterd", "manifests"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit %d, printed %d bytes, said %q, want %q", c.args, code, len(out), said, c.want)
		}
	}
}

func TestIAMPolicy_WritesTheDocumentsOfTheProvider(t *testing.T) {
	flags := []string{"--cluster-name=prod", "--region=cn-north-1", "--account=123456789012"}
	in := awsspec.Installation{
		Partition: "aws-cn", Region: "cn-north-1", Account: "123456789012", Cluster: "prod", QueueName: "prod", Namespace: "karpenter", ServiceAccount: "karpenter",
		Issuer: "https://oidc.example.com/id/1",
	}
	flags = append(flags, "--oidc-issuer="+in.Issuer)
	text, _, err := invoke(t.Context(), "", append([]string{"iam-policy"}, flags...)...)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	want := awsspec.Documents(in)
	if len(all) != len(want) || len(want) != len(documentNames()) {
		t.Errorf("%d documents, want %d, and %d are named", len(all), len(want), len(documentNames()))
	}
	for _, d := range want {
		one, _, err := invoke(t.Context(), "", append([]string{"iam-policy", d.Name}, flags...)...)
		if err != nil || compact(t, one) != compact(t, d.Text) || compact(t, string(all[d.Name])) != compact(t, d.Text) {
			t.Errorf("%s: %v: %s, want %s", d.Name, err, one, d.Text)
		}
	}
	if !slices.ContainsFunc(want, func(d awsspec.Document) bool {
		return strings.Contains(d.Text, "arn:aws-cn:iam::123456789012:role/KarpenterNodeRole-prod")
	}) {
		t.Error("no document names the node role that the provider would make")
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	out, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestIAMPolicy_SaysWhatIsMissing(t *testing.T) {
	good := []string{"--cluster-name=a", "--region=us-west-2", "--account=123456789012"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "--cluster-name: cluster name \"\": has 0 characters and must have 1 to 100\n--region: \"\": must be a region such as us-west-2\n--account: \"\": must have 12 digits"},
		{append([]string{"nodetrust"}, good...), `there is no document "nodetrust": name one of controller-nodes, controller-profiles,`},
		{append([]string{awsspec.IRSATrustDocument}, good...), "needs the cluster's issuer: give --oidc-issuer"},
		{append([]string{awsspec.QueuePolicyDocument, "--without-queue"}, good...), "there is no queue-policy without a queue"},
		{append([]string{"--without-queue", "--queue-name=a"}, good...), "--queue-name and --without-queue exclude each other"},
		{append([]string{"--node-role-arn=x"}, good...), `--node-role-arn: role ARN "x"`},
		{append([]string{"--role-name=a/b"}, good...), "--role-name: "},
		{append([]string{"--oidc-issuer=https://oidc.eks.us-west-2.amazonaws.com/id/A/"}, good...), "--oidc-issuer: "},
		{append([]string{"--oidc-issuer=arn:aws:iam::123456789012:oidc-provider/oidc.eks.us-west-2.amazonaws.com/id/A"}, good...), "--oidc-issuer: "},
		{append([]string{"--namespace=A"}, good...), "--namespace: \"A\""},
		{append([]string{"--service-account=a/b"}, good...), "--service-account: \"a/b\""},
		{append([]string{"--queue-name=a/b"}, good...), "--queue-name: "},
		{append([]string{"a", "b"}, good...), `unexpected argument "b": name one document, or none for all`},
	} {
		code, out, said := start(t, append([]string{"karpenterd", "iam-policy"}, c.args...)...)
		if code != exitUsage || out != "" || !strings.Contains(said, c.want) {
			t.Errorf("%q: exit %d, printed %q, said %q, want %q", c.args, code, out, said, c.want)
		}
	}
}
