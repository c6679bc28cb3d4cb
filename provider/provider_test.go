package provider_test

import (
	"net"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
)

func TestConfigure_NeverDialsAndAcceptsWhatIsUnknown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dialled := make(chan struct{})
	go func() {
		if connection, err := listener.Accept(); err == nil {
			_ = connection.Close()
			close(dialled)
		}
	}()
	url := "http://" + listener.Addr().String()
	for name, config := range map[string]object{
		"nothing":         {},
		"all unknown":     {"region": unknown{}, "eks": unknown{}, "endpoints": unknown{}, "default_tags": unknown{}},
		"parts unknown":   {"region": testRegion, "eks": object{"cluster_name": unknown{}}, "default_tags": object{"tags": unknown{}}},
		"all known":       {"region": testRegion, "eks": object{"cluster_name": "lab"}, "endpoints": object{"eks": url, "sts": url, "ec2": url, "iam": url}},
		"kubernetes":      {"kubernetes": object{"host": "https://" + listener.Addr().String(), "token": "t"}},
		"kubernetes file": {"kubernetes": object{"config_path": "/nonexistent"}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			wantNoError(t, h.validateProvider(config))
			wantNoError(t, h.configure(config))
			p := h.resource("karpenter_node_pool").plan(poolConfig(nil))
			wantNoError(t, p.problems)
		})
	}
	select {
	case <-dialled:
		t.Error("the provider dialled")
	default:
	}
}

func TestRead_KeepsTheStateWhileTheConfigurationIsUnknown(t *testing.T) {
	cloud := startCloud(t)
	config := object{"name": "nodes", "role": "blue"}
	if _, err := cloud.clients.CreateRole(t.Context(), aws.Role{Name: "blue", TrustPolicy: awsspec.NodeTrust("aws")}); err != nil {
		t.Fatal(err)
	}
	known := configured(t, cloud.config()).resource("karpenter_instance_profile")
	wantNoError(t, known.apply(config))

	later := configured(t, object{"region": unknown{}}).resource("karpenter_instance_profile")
	later.state, later.private, later.identity = known.state, known.private, known.identity
	diags := later.read()
	if len(diags) != 1 || diags[0].Severity != tfprotov6.DiagnosticSeverityWarning || !strings.Contains(diags[0].Detail, "region") {
		t.Errorf("diagnostics %v, want one warning that names region", diags)
	}
	if !later.state.Equal(known.state) {
		t.Errorf("state became %s", later.state)
	}
	wantError(t, later.apply(object{"name": "nodes", "role": "green"}), "region", "known")
}

func TestKubernetesResources_NeedACluster(t *testing.T) {
	pool := configured(t, object{"region": testRegion}).resource("karpenter_node_pool")
	wantError(t, pool.apply(poolConfig(nil)), "eks", "kubernetes = {")
	pool = configured(t, object{"eks": object{"cluster_name": unknown{}}}).resource("karpenter_node_pool")
	wantError(t, pool.apply(poolConfig(nil)), "eks.cluster_name", "not known")
}
