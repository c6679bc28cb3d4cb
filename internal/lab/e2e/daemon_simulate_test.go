//go:build lab

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// foretold is what the test reads of a report of "karpenterd simulate -o json".
type foretold struct {
	Now, Then      struct{ Pools []poolForetold }
	WouldRemove    struct{ EvictedPods int }
	CannotBePlaced []struct{ Why string }
	With           *foretold
}

type poolForetold struct {
	Name        string
	Nodes       int
	CostPerHour float64
}

func poolOf(all []poolForetold, name string) poolForetold {
	if i := slices.IndexFunc(all, func(p poolForetold) bool { return p.Name == name }); i >= 0 {
		return all[i]
	}
	return poolForetold{}
}

// simulateForetellsWhatTheDaemonDoes asks with the right to read alone what would come of a change
// of a NodePool, makes the change, and compares.
func simulateForetellsWhatTheDaemonDoes(t *testing.T, d *daemonLab) {
	m := d.halfFull(t, "foretold")
	deployer, user := d.terminal(t), d.terminal(t)
	deployer.env = append(deployer.env, "KUBECONFIG="+d.kubeconfigOfDeployer(t))
	user.env = append(user.env, "KUBECONFIG="+d.kubeconfigOfReader(t, deployer))
	m.pool.budget = ""
	text, err := json.Marshal(m.pool.object())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(user.dir, "nodepool.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	ask := func(command string) (out foretold) {
		t.Helper()
		if err := json.Unmarshal([]byte(user.must(t, command)), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	told := ask("karpenterd simulate -o json --with nodepool.json")
	before, as, with := poolOf(told.Now.Pools, m.pool.name), poolOf(told.Then.Pools, m.pool.name), poolOf(told.With.Then.Pools, m.pool.name)
	if before.Nodes != 2 || as != before || with.Nodes != 1 || with.CostPerHour <= 0 || told.With.WouldRemove.EvictedPods != 1 || len(told.CannotBePlaced) > 0 {
		t.Fatalf("foretold: now %+v, as it is %+v, with another budget %+v; %+v", before, as, with, told)
	}
	// What is foretold is what a daemon does that starts now: one that has just launched nodes
	// would leave them alone for a while.
	deployer.must(t, "kubectl -n "+install.DefaultNamespace+" delete pods --all --wait=true")
	d.allow(t, m)
	eventually(t, func() error { return d.over(t, m) })
	after := ask("karpenterd simulate -o json")
	// Which of two equal nodes goes may differ.
	if is := poolOf(after.Now.Pools, m.pool.name); is != with {
		t.Errorf("the pool has %+v, and foretold was %+v", is, with)
	}
	d.scale(t, m.pool, 0)
	d.empties(t, m.pool)
}

// kubeconfigOfReader writes a kubeconfig of somebody who may get and list, and nothing else.
func (d *daemonLab) kubeconfigOfReader(t *testing.T, deployer *terminal) (path string) {
	t.Helper()
	token := deployer.must(t, `kubectl create serviceaccount reader -n default >/dev/null
kubectl create clusterrole reader --verb=get,list --resource='*.*' >/dev/null
kubectl create clusterrolebinding reader --clusterrole=reader --serviceaccount=default:reader >/dev/null
kubectl create token reader -n default`)
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: d.Endpoint, CertificateAuthorityData: d.CA}
	config.AuthInfos["reader"] = &clientcmdapi.AuthInfo{Token: strings.TrimSpace(token)}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "reader"}
	config.CurrentContext = "lab"
	path = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}
