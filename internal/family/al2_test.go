package family

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const head = "#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n" +
	"/etc/eks/bootstrap.sh 'lab' \\\n  --apiserver-endpoint 'https://127.0.0.1:6443' \\\n  --b64-cluster-ca 'UEVN' \\\n"

const flags = `--node-labels="karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=default" ` +
	`--register-with-taints="spot=only:NoSchedule,karpenter.sh/unregistered=:NoExecute,karpenterd.sh/awaiting-pods=:NoSchedule"`

// script is the last part of the user data.
func script(t *testing.T, n Node) string {
	t.Helper()
	text, err := al2{}.UserData(n)
	if err != nil {
		t.Fatal(err)
	}
	found := parts(t, text)
	last := found[len(found)-1]
	if last.contentType != shellType {
		t.Errorf("content type %q", last.contentType)
	}
	return last.body
}

func TestAL2_ScriptMakesTheNodeJoin(t *testing.T) {
	want := head + "  --dns-cluster-ip '10.96.0.10' \\\n  --kubelet-extra-args '" + flags + "'\n"
	if got := script(t, plain()); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestAL2_SettingsOfTheKubeletAreFlags(t *testing.T) {
	n, raid := plain(), "RAID0"
	n.Class.Spec.Kubelet, n.Class.Spec.InstanceStorePolicy = allKubelet(), &raid
	want := head + "  --dns-cluster-ip '10.96.0.53' \\\n  --use-max-pods false \\\n  --local-disks raid0 \\\n  --kubelet-extra-args '" + flags +
		` --max-pods=58 --pods-per-core=8 --system-reserved="cpu=100m" --kube-reserved="cpu=90m,memory=1Gi"` +
		` --eviction-hard="memory.available<5%,nodefs.available<10%" --eviction-soft="memory.available<500Mi"` +
		` --eviction-soft-grace-period="memory.available=1m30s" --eviction-max-pod-grace-period=60` +
		` --image-gc-high-threshold=70 --image-gc-low-threshold=60 --cpu-cfs-quota=false'` + "\n"
	if got := script(t, n); got != want {
		t.Error(cmp.Diff(want, got))
	}
}

func TestAL2_ServicesOfIPv6HaveTheirDNS(t *testing.T) {
	n := plain()
	n.ServiceCIDR = "fd30:1c53:5f8a::/108"
	if got := script(t, n); !strings.Contains(got, "--dns-cluster-ip 'fd30:1c53:5f8a::a' \\\n  --ip-family ipv6") {
		t.Error(got)
	}
}

func TestAL2_NoTextLeavesItsWordOfTheScript(t *testing.T) {
	n := plain()
	n.Labels = map[string]string{"team": "a'; reboot; '"}
	if got := script(t, n); !strings.Contains(got, `team=a'\''; reboot; '\'`) {
		t.Error(got)
	}
}

func TestAL2_PartsOfTheUserComeFirst(t *testing.T) {
	text, err := al2{}.UserData(plain().withText("apiVersion: node.eks.aws/v1alpha1"))
	if err != nil {
		t.Fatal(err)
	}
	if found := parts(t, text); len(found) != 2 || found[0].contentType != shellType || !strings.Contains(found[1].body, "bootstrap.sh") {
		t.Errorf("%+v", found)
	}
}

func TestAL2_PartsOfTheUserKeepTheirHeaders(t *testing.T) {
	const headers = "Content-Disposition: attachment; filename=\"50-first.sh\"\nContent-Transfer-Encoding: base64\nContent-Type: text/cloud-config\nMerge-Type: list(append)\n"
	text, err := al2{}.UserData(plain().withText("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\n" + headers + "\nYQ==\n--B--\n"))
	if err != nil || !strings.Contains(text, "--//\n"+headers+"\nYQ==\n--//\n") {
		t.Errorf("%v\n%s", err, text)
	}
}
