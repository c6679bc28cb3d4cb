//go:build lab

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// explainReachesTheLeader asks as the guide says, with nothing but a kubeconfig: first with
// a port that the command forwards itself, then in the leader's pod.
func explainReachesTheLeader(t *testing.T, d *daemonLab) {
	p := pool{name: "explained"}
	d.createPool(t, p)
	d.deploy(t, p, 1)
	pod := d.running(t, p, 1)[0]
	user := d.terminal(t)
	user.env = append(user.env, "KUBECONFIG="+d.kubeconfigOfDeployer(t))
	g := user.openGuide(t, "disruption")
	names := []string{
		"ip-10-0-0-42.eu-west-1.compute.internal", pod.Spec.NodeName, "pool general", "pool " + p.name,
		"web-5d9c8", pod.Name, "-n default", "-n " + pod.Namespace,
	}
	said := g.run(t, "ask", names...)
	for _, want := range []string{"node " + pod.Spec.NodeName + " (nodeclaim ", "nodepool " + p.name, "pod " + pod.Namespace + "/" + pod.Name} {
		if !strings.Contains(said, want) {
			t.Errorf("the guide's block prints no %q:\n%s", want, said)
		}
	}
	if said := g.run(t, "ask in the pod", names...); !strings.Contains(said, "nodepool "+p.name) {
		t.Errorf("in the pod: %s", said)
	}
	if out, err := g.bash(t, "karpenterd explain node no-such-node"); err == nil || !strings.Contains(err.Error(), "the last plan does not know it") {
		t.Errorf("a node that does not exist: %s, %v", out, err)
	}
	d.scale(t, p, 0)
	d.empties(t, p)
}

// kubeconfigOfDeployer writes a kubeconfig of the identity that the provider has, too.
func (d *daemonLab) kubeconfigOfDeployer(t *testing.T) (path string) {
	t.Helper()
	token, _, err := d.aws.EKSTokenSource(d.ClusterName).Token(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: d.Endpoint, CertificateAuthorityData: d.CA}
	config.AuthInfos["deployer"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "deployer"}
	config.CurrentContext = "lab"
	path = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
