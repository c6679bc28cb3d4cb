//go:build lab

package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
)

// workspace is a folder with a configuration, in which a test runs the command line tool
// itself: the test library refuses configurations with modules.
type workspace struct {
	cli
	dir       string
	providers map[string]func() (tfprotov6.ProviderServer, error) // by name
}

// run runs a command with providers in the test's process, and returns what it printed. A
// code of exit that is not allowed is an error with what was printed.
func (w workspace) run(t *testing.T, allowed []int, args ...string) (printed []byte, code int, err error) {
	t.Helper()
	reattach := map[string]reattached{}
	for name, build := range w.providers {
		address := w.host + "/karpenterd/" + name
		reattach[address] = serve(t, address, build)
	}
	text, err := json.Marshal(reattach)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.WithoutCancel(t.Context()), w.path, args...) // also in a cleanup
	command.Dir = w.dir
	command.Env = append(os.Environ(), "TF_REATTACH_PROVIDERS="+string(text), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "TF_CLI_ARGS=-no-color")
	var all bytes.Buffer
	command.Stdout, command.Stderr = &all, &all
	err = command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code, err = exit.ExitCode(), nil
	}
	if err == nil && !slices.Contains(allowed, code) {
		err = fmt.Errorf("%s %s: exit %d\n%s", w.name, strings.Join(args, " "), code, &all)
	}
	return all.Bytes(), code, err
}

// must runs a command that has to succeed.
func (w workspace) must(t *testing.T, args ...string) []byte {
	t.Helper()
	printed, _, err := w.run(t, []int{0}, args...)
	if err != nil {
		t.Fatal(err)
	}
	return printed
}

// reattached says where a provider listens, in the form of TF_REATTACH_PROVIDERS.
type reattached struct {
	Protocol        string
	ProtocolVersion int
	Pid             int
	Test            bool
	Addr            struct{ Network, String string }
}

// serve serves a new instance of the provider, as for each command of Terraform's, until the
// test ends.
func serve(t *testing.T, address string, build func() (tfprotov6.ProviderServer, error)) reattached {
	t.Helper()
	server, err := build()
	if err != nil {
		t.Fatal(err)
	}
	listening, ended := make(chan *plugin.ReattachConfig), make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		err := tf6server.Serve(address, func() tfprotov6.ProviderServer { return server },
			tf6server.WithDebug(ctx, listening, ended), tf6server.WithGoPluginLogger(hclog.NewNullLogger()), tf6server.WithLoggingSink(t))
		if err != nil {
			t.Error(err)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	is := <-listening
	at := reattached{Protocol: string(is.Protocol), ProtocolVersion: is.ProtocolVersion, Pid: is.Pid, Test: is.Test}
	at.Addr.Network, at.Addr.String = is.Addr.Network(), is.Addr.String()
	return at
}
