// Command lab runs the laboratory for people: "up" keeps one running until
// Ctrl-C, "demo" plays the quickstart in one from apply to destroy, and "chaos"
// lets the daemon live through a bad day in one.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/chaos"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/demo"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/faults"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/quickstart"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// errUsage says that the command line was wrong; what is right was printed.
var errUsage = errors.New("wrong usage")

const usage = `usage:
  lab up [flags]     start a laboratory and keep it until Ctrl-C
  lab demo           play the quickstart in a laboratory, from apply to destroy
  lab chaos [flags]  let everything go wrong in a laboratory while workloads come and go

"lab up -h" and "lab chaos -h" list the flags.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, errOut io.Writer) error {
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case "up":
		return up(ctx, args, out, errOut)
	case "demo":
		if len(args) > 0 {
			fmt.Fprintf(errOut, "lab demo takes no arguments\n")
			return errUsage
		}
		return demo.Run(ctx, demo.Options{Out: out})
	case "chaos":
		return live(ctx, args, out, errOut)
	case "help", "-h", "--help":
		fmt.Fprint(out, usage)
		return nil
	}
	fmt.Fprint(errOut, usage)
	return errUsage
}

// live lets the daemon live through a drawn schedule of faults.
func live(ctx context.Context, args []string, out, errOut io.Writer) error {
	flags := flag.NewFlagSet("lab chaos", flag.ContinueOnError)
	flags.SetOutput(errOut)
	o := chaos.Options{Out: out}
	flags.Uint64Var(&o.Seed, "seed", 1, "what the schedule is drawn from")
	flags.Float64Var(&o.Minutes, "minutes", 20, "how long the run takes, about; above 0")
	flags.IntVar(&o.Tries, "tries", 10, "how many shorter schedules are tried after a violation")
	flags.StringVar(&o.LogTo, "log", "", "file that gets the daemon's log; empty: none")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage // the flag set has said what is wrong
	}
	if flags.NArg() > 0 || !(o.Minutes > 0) || o.Tries < 0 {
		fmt.Fprintln(errOut, "lab chaos: takes flags only, -minutes above 0, and -tries of 0 or more")
		return errUsage
	}
	return chaos.Run(ctx, o)
}

// up starts a laboratory, says how to use it, and stops it when ctx ends.
func up(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	flags := flag.NewFlagSet("lab up", flag.ContinueOnError)
	flags.SetOutput(errOut)
	region := flags.String("region", "us-west-2", "region of the simulated AWS")
	cluster := flags.String("cluster", "lab", "name of the EKS cluster")
	factor := flags.Float64("time-factor", 6, "how many times as fast as in AWS instances start, boot and end, and spot warnings run out; 1 to 1000")
	level := flags.String("log-level", "warn", "trace, debug, info, warn or error")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return errUsage // the flag set has said what is wrong
	}
	severity := hclog.LevelFromString(*level)
	if flags.NArg() > 0 || severity == hclog.NoLevel || !(*factor >= 1 && *factor <= 1000) {
		fmt.Fprintln(errOut, "lab up: takes flags only, a known -log-level, and a -time-factor from 1 to 1000")
		return errUsage
	}
	ready, err := toolchain.Prepare(ctx, out, toolchain.LabNeeds())
	if err != nil {
		return err
	}
	l, err := lab.Start(ctx, lab.Options{
		Region: *region, ClusterName: *cluster, TimeFactor: *factor, DaemonBinary: ready.Programs[toolchain.Daemon], Progress: out,
		Logger: hclog.New(&hclog.LoggerOptions{Name: "lab", Level: severity, Output: errOut}),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	dir := filepath.Join(l.Dir, "quickstart")
	env, err := quickstart.Prepare(l, dir, ready.Programs[toolchain.Provider])
	if err != nil {
		return err
	}
	welcome(out, l, ready.Tools[toolchain.TerraformCLI].Path, dir, env)
	<-ctx.Done()
	fmt.Fprintln(out, "\nlab: stopping")
	return nil
}

// welcome says what there is and what to try.
func welcome(out io.Writer, l *lab.Lab, tofu, dir string, env []string) {
	fmt.Fprintf(out, `
The laboratory is up. Ctrl-C ends it and leaves nothing behind.

  Kubernetes API  %s
  AWS endpoint    %s   (account %s, region %s, EKS cluster %s)
  VPC             %s with subnets %s
  logs            %s

In another terminal:

  # the cluster's administrator
  export KUBECONFIG=%s

  # the IAM user that Terraform is, and the quickstart's variables
`, l.Endpoint, l.Cloud.URL(), lab.Account, l.Region, l.ClusterName, l.VPC.ID, strings.Join(l.VPC.SubnetIDs, ", "), l.LogDir(), l.Kubeconfig)
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		fmt.Fprintf(out, "  export %s='%s'\n", name, value)
	}
	fmt.Fprintf(out, `
What to try (kubectl and aws are yours to bring):

  kubectl get nodes                       two bootstrap nodes, nothing else
  aws sts get-caller-identity             the simulated AWS, with signatures and IAM enforced
  cd %s
  %s init && %[2]s apply
                                          the whole product, with the provider built here
  kubectl create deployment inflate --image=any --replicas=5
  kubectl get nodeclaims,nodes,pods       what the daemon makes of it
`, dir, tofu)
	welcomeFaults(out, l.Faults.URL(), l.Faults.Known())
}

// welcomeFaults says what can go wrong, a line each.
func welcomeFaults(out io.Writer, url string, known []faults.Known) {
	fmt.Fprintf(out, `
What can go wrong (for=30s ends a fault by itself, as DELETE %[1]s ends all):

`, url)
	for _, f := range known {
		var query []string
		for _, p := range f.Takes {
			if p.Default != "" || !p.Optional {
				query = append(query, p.Name+"="+cmp.Or(p.Default, strings.ToUpper(p.Name)))
			}
		}
		call := f.Name
		if len(query) > 0 {
			call += "?" + strings.Join(query, "&")
		}
		fmt.Fprintf(out, "  curl -X POST '%s/%s'\n      %s\n", url, call, f.Does)
	}
}
