//go:build lab

package provider_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
	"github.com/karpenterd/terraform-provider-karpenter/provider"
)

// The tests that need a cluster share the laboratory: its start takes some seconds.
// TestMain closes it.
var shared struct {
	once sync.Once
	dir  string
	lab  *lab.Lab
	err  error

	registry net.Listener // where a test serves a registry of its own; the laboratory runs its images
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.lab != nil {
		if err := shared.lab.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	if shared.registry != nil {
		_ = shared.registry.Close()
	}
	if shared.dir != "" {
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// cli is one of the command line tools that the provider is tested with.
type cli struct{ name, path, host string }

// openTofu is the tool of tests that look at what the provider does. It is built if it is
// not on PATH.
func openTofu(t testing.TB) cli {
	t.Helper()
	found, err := toolchain.Ensure(t.Context(), os.Stderr, toolchain.Tofu)
	if err != nil {
		t.Fatal(err)
	}
	return cli{"tofu", found[toolchain.Tofu].Path, "registry.opentofu.org"}
}

// clis are the tools of tests in which the tool itself decides: taint, the plan's actions,
// values that are unknown, imports, the order of a destroy. They are OpenTofu, and Terraform
// if it is on PATH; a run of the tests draws one of both, or plays both. See package share.
func clis(t *testing.T) []cli {
	t.Helper()
	all := []cli{openTofu(t)}
	if path, err := exec.LookPath("terraform"); err == nil {
		all = append(all, cli{"terraform", path, "registry.terraform.io"})
	}
	return share.Of(t.Name(), len(all), all)
}

// use makes the test run the provider with this tool.
func (c cli) use(t *testing.T) {
	t.Helper()
	empty := filepath.Join(t.TempDir(), "cli.tfrc")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TF_ACC_TERRAFORM_PATH", c.path)
	t.Setenv("TF_ACC_PROVIDER_HOST", c.host)
	t.Setenv("TF_ACC_PROVIDER_NAMESPACE", "karpenterd")
	t.Setenv("TF_CLI_CONFIG_FILE", empty) // a missing file breaks OpenTofu's version check
	t.Setenv("CHECKPOINT_DISABLE", "1")
}

// run runs the steps, then checks that nothing is left.
func run(t *testing.T, destroyed func() error, steps ...resource.TestStep) {
	t.Helper()
	resource.Test(t, resource.TestCase{
		IsUnitTest: true,
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){
			"karpenter": providerserver.NewProtocol6WithError(provider.NewBrisk("1.2.3", releaseDigest)()),
		},
		CheckDestroy: func(*terraform.State) error { return destroyed() },
		Steps:        steps,
	})
}

// planned expects the action that the plan has for the resource.
func planned(address string, action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction(address, action)}}
}

// gone turns an error that says "not found" into success, and success into an error.
func gone(what string, err error, notFound func(error) bool) error {
	switch {
	case err == nil:
		return fmt.Errorf("%s is still there", what)
	case notFound(err):
		return nil
	}
	return err
}

// theLab is the shared laboratory, with clients that have the deployer's identity.
type theLab struct {
	*lab.Lab
	aws  *aws.Clients
	kube *kube.Applier
}

// startLab starts the laboratory on first use and points the environment at it.
func startLab(t testing.TB) *theLab {
	t.Helper()
	shared.once.Do(func() { shared.lab, shared.err = newLab() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	l := &theLab{Lab: shared.lab}
	for _, e := range l.Env() {
		name, value, _ := strings.Cut(e, "=")
		t.Setenv(name, value)
	}
	var err error
	if l.aws, err = aws.New(t.Context(), aws.Config{Region: l.Region}); err != nil {
		t.Fatal(err)
	}
	if l.kube, err = kube.NewApplier(kube.ConfigFromEKS(l.Endpoint, l.CA, l.aws.EKSTokenSource(l.ClusterName))); err != nil {
		t.Fatal(err)
	}
	return l
}

// patience is how long a step of a test may take on a busy machine. What goes right takes a
// fraction of it.
const patience = 3 * time.Minute

// mirror is a registry that has the image of the release, too.
const mirror = lab.Account + ".dkr.ecr.us-west-2.amazonaws.com"

func newLab() (*lab.Lab, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute) // the first time builds the programs
	defer cancel()
	binary, err := toolchain.Self(ctx, os.Stderr, "./daemon/cmd/karpenterd")
	if err != nil {
		return nil, err
	}
	if shared.dir, err = os.MkdirTemp("", "karpenter-provider-lab-"); err != nil {
		return nil, err
	}
	if shared.registry, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	return lab.Start(ctx, lab.Options{
		Prompt: true,
		Dir:    shared.dir, DaemonBinary: binary, TimeFactor: 6, BootDelay: 300 * time.Millisecond,
		Images: map[string]string{mirror + "/karpenterd/karpenterd": binary, shared.registry.Addr().String() + "/karpenterd": binary},
	})
}
