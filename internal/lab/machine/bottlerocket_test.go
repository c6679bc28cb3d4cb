package machine

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const goodSettings = `
[settings.kubernetes]
api-server = "https://127.0.0.1:6443"
cluster-certificate = "Y2E="
cluster-name = "lab"
cluster-dns-ip = "10.0.0.10"
max-pods = 20
[settings.kubernetes.node-labels]
"a" = "b"
[settings.kubernetes.node-taints]
"spot" = ["only:NoSchedule"]
"alone" = [":NoExecute"]
`

func TestReadSettings_TellsWhatTheKubeletStartsWith(t *testing.T) {
	c, err := Instance{Image: "bottlerocket-aws-k8s-1.36-x86_64-v1.49.0-d1e2f3a4", UserData: []byte(goodSettings)}.readUserData()
	if err != nil {
		t.Fatal(err)
	}
	k, err := kubeletOf(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []taint{{"spot", "only", "NoSchedule"}, {"alone", "", "NoExecute"}} {
		if !slices.Contains(k.config.RegisterWithTaints, want) {
			t.Errorf("taint %v is missing in %v", want, k.config.RegisterWithTaints)
		}
	}
	if c.Spec.Cluster.Name != "lab" || string(c.Spec.Cluster.CertificateAuthority) != "ca" || *k.config.MaxPods != 20 || k.labels["a"] != "b" {
		t.Errorf("%+v, %+v", c.Spec.Cluster, k)
	}
}

func TestReadSettings_RefusesWhatBottlerocketRefusesAndNamesIt(t *testing.T) {
	for name, c := range map[string]struct{ old, replacement, says string }{
		"no TOML":             {goodSettings, "#!/bin/bash\necho", "settings"},
		"an unknown setting":  {"max-pods = 20", "pods-per-core = 20", "settings"},
		"a number as a text":  {"max-pods = 20", `max-pods = "20"`, "settings"},
		"a broken authority":  {"Y2E=", "%", "cluster-certificate"},
		"no cluster":          {`cluster-name = "lab"`, "", "name is missing"},
		"a taint without one": {`":NoExecute"`, `"NoExecute"`, "not value:effect"},
		"a percentage":        {"max-pods = 20", `image-gc-high-threshold-percent = "80%"`, "image-gc"},
	} {
		if _, err := readSettings([]byte(strings.Replace(goodSettings, c.old, c.replacement, 1))); !errors.Is(err, ErrUserData) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}
