package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/reach"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// question is what "explain" is asked, and where.
type question struct {
	target    reach.Target
	address   string // where decisions are served; "" finds the leader
	namespace string // of the pod
	local     string // the address for who runs in the daemon's pod
	inPod     bool   // the environment is that of the daemon's pod
}

func explainCommand(env func(string) string) *cobra.Command {
	q := question{inPod: env(install.EnvPodName) != "" && env(install.EnvSystemNamespace) != "", local: net.JoinHostPort(cmp.Or(env(install.EnvLoopback), install.Loopback), strconv.Itoa(install.LocalPort))}
	command := &cobra.Command{
		Use:   "explain",
		Short: "say why a node stays or leaves, why no more nodes of a NodePool are deleted, or what is planned for a pod",
		Long: "explain asks the replica of the daemon that decides. It finds the replica by the daemon's Lease\n" +
			"and forwards a port of it in its own process, with the user's kubeconfig; in the daemon's pod it\n" +
			"asks that pod. The user needs the rights to list leases and to create pods/portforward.",
		Example: "  karpenterd explain node ip-10-0-0-42.eu-west-1.compute.internal\n" +
			"  karpenterd explain pool general\n  karpenterd explain pod web-5d9c8 -n shop\n" +
			"  kubectl exec -n karpenter POD -- karpenterd explain pool general",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("say what to explain: node NAME, pool NAME, or pod NAME")
			}
			return fmt.Errorf("%q cannot be explained: say node NAME, pool NAME, or pod NAME", args[0])
		},
		RunE: func(*cobra.Command, []string) error { return nil }, // Args always refuses; without RunE cobra prints help and asks no Args
	}
	flags := command.PersistentFlags()
	flags.StringVar(&q.target.Kubeconfig, "kubeconfig", "", "kubeconfig; default: $KUBECONFIG or ~/.kube/config")
	flags.StringVar(&q.target.Context, "context", "", "context of the kubeconfig; default: the current one")
	flags.StringVar(&q.target.Namespace, "daemon-namespace", "", "namespace of the daemon; default: the one that has its Lease")
	flags.StringVar(&q.address, "address", "", "host and port where the daemon's decisions are, if they are forwarded already")
	pod := q.about("pod", "pod [NAMESPACE/]NAME", "what is planned for a pod, and whether a pod that runs keeps its node")
	pod.Flags().StringVarP(&q.namespace, "namespace", "n", "", "namespace of the pod; default: that of the context")
	pool := q.about("pool", "pool NAME", "why no more nodes of a NodePool are deleted now, or that some are")
	pool.Aliases = []string{"nodepool"}
	command.AddCommand(q.about("node", "node NAME", "why a node, or a NodeClaim, stays or leaves"), pool, pod)
	return command
}

// about makes the command for one kind of thing.
func (q *question) about(what, use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return fmt.Errorf("explain %s: want one name and no more, got %q", what, args)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return q.ask(c, what, args[0]) },
	}
}

// ask finds who knows, and asks.
func (q *question) ask(c *cobra.Command, what, name string) error {
	explain := func(ctx context.Context, address string) error {
		return telemetry.Explain(ctx, c.OutOrStdout(), address, what, name)
	}
	user := q.address == "" && (!q.inPod || q.target.Chosen()) && q.target.Given()
	if what == "pod" && !strings.Contains(name, "/") {
		namespace := q.namespace
		if namespace == "" && user {
			var err error
			if namespace, err = q.target.PodNamespace(); err != nil {
				return err //nolint:wrapcheck // it says all
			}
		}
		name = cmp.Or(namespace, "default") + "/" + name
	} else if namespace, _, _ := strings.Cut(name, "/"); what == "pod" && q.namespace != "" && q.namespace != namespace {
		return usageError{fmt.Errorf("explain pod: %s is in namespace %s, and --namespace is %s: give one of them", name, namespace, q.namespace)}
	}
	if user {
		return q.target.Leader(c.Context(), install.LocalPort, explain) //nolint:wrapcheck // it says all
	}
	return explain(c.Context(), cmp.Or(q.address, q.local))
}
