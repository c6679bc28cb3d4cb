package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/dump"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/reach"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/shadow"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/simulate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

// foundError says that the simulation found what --fail-if asks for.
type foundError struct{ error }

// simulation is the command "simulate".
type simulation struct {
	files, with []string
	scales      []string
	from, nodes string
	region      string
	prices      string
	output      string
	failIf      []string
	length      time.Duration
	seed        uint64
	target      reach.Target
	advise      bool
	schema      bool
}

func simulateCommand(s streams) *cobra.Command {
	var x simulation
	command := &cobra.Command{
		Use:   "simulate",
		Short: "say what the daemon would make of a cluster, and what that would cost, without changing anything",
		Long: "simulate plays the daemon's own decisions on the objects of a cluster: what would be launched,\n" +
			"removed and moved, what the fleet would cost then, and the least that any fleet for its pods costs.\n" +
			"It reads the cluster of the kubeconfig, for which the right to list suffices, or files that\n" +
			"\"kubectl get -o json\" has written (YAML, too, which is slower), also if gzip has packed them. It\n" +
			"writes nothing to the cluster and needs neither the daemon nor AWS: prices are those of the\n" +
			"embedded list unless --prices says otherwise. A cluster without NodePools is simulated with one that stands in. The exit code is 3\n" +
			"if --fail-if finds what it asks for.",
		Example: "  karpenterd simulate\n" +
			"  karpenterd simulate --nodes all -o html > report.html\n" +
			"  kubectl get nodes,pods,replicasets,statefulsets,daemonsets,jobs,namespaces,poddisruptionbudgets,\\\n" +
			"priorityclasses,limitranges,pvc,pv,storageclasses,csinodes,volumeattachments,runtimeclasses -A -o json > dump.json\n" +
			"  karpenterd simulate -f dump.json\n" +
			"  karpenterd simulate -f dump.json --with nodepool.yaml --fail-if unplaced",
		Args: noArguments("name files by -f"),
		RunE: func(c *cobra.Command, _ []string) error { return x.run(c.Context(), s) },
	}
	x.bind(command, "table")
	return command
}

// reportCommand is simulate for people who decide.
func reportCommand(s streams) *cobra.Command {
	x := simulation{advise: true}
	command := &cobra.Command{
		Use:   "report",
		Short: "report what a fleet costs, what it could cost, and which changes of NodePools would save more",
		Long: "report says what simulate says, as a document, and simulates changes of the NodePools beside it:\n" +
			"arm64, spot, another generation, all sizes, consolidation at once. Each that saves 1 % or more is\n" +
			"advised, with what it saves and what to mind. It takes some six times as long as simulate.",
		Example: "  karpenterd report > report.md\n  karpenterd report -o html > report.html\n  karpenterd report -f dump.json --nodes all",
		Args:    noArguments("name files by -f"),
		RunE:    func(c *cobra.Command, _ []string) error { return x.run(c.Context(), s) },
	}
	x.bind(command, "markdown")
	return command
}

// bind gives the command its flags.
func (x *simulation) bind(command *cobra.Command, output string) {
	flags := command.Flags()
	flags.StringArrayVarP(&x.files, "filename", "f", nil, "file or folder to read in place of a cluster, or - for standard input; may be given several times")
	flags.StringArrayVar(&x.with, "with", nil, "file or folder with objects, such as a NodePool, to simulate once more with; may be given several times")
	flags.StringArrayVar(&x.scales, "scale", nil, "replicas of a workload, as KIND/NAMESPACE/NAME=N; may be given several times")
	flags.StringVar(&x.from, "from", "now", "what the fleet is made from: now, the nodes that there are, or scratch, none of those that may be replaced")
	flags.StringVar(&x.nodes, "nodes", "", "which nodes may be replaced: owned, those of NodePools, or all; default: owned, or all where NodePools have none")
	flags.StringVar(&x.region, "region", "", "region of the cluster; default: that of its nodes")
	flags.StringVar(&x.prices, "prices", pricesEmbedded, "where prices are from: embedded, the program's own list; live, AWS, with the credentials of the environment; or a file with prices in place of embedded ones")
	flags.StringVarP(&x.output, "output", "o", output, "form of the report: table, json, markdown or html")
	flags.BoolVar(&x.schema, "schema", false, "print the JSON Schema of --output json, and read nothing")
	flags.StringArrayVar(&x.failIf, "fail-if", nil, "exit with code 3 if so: unplaced, or saving>N% of what the fleet costs; may be given several times")
	flags.DurationVar(&x.length, "for", time.Hour, "how long the daemon would have worked")
	flags.Uint64Var(&x.seed, "seed", 1, "number that the names of new nodes follow from")
	flags.StringVar(&x.target.Kubeconfig, "kubeconfig", "", "kubeconfig; default: $KUBECONFIG or ~/.kube/config")
	flags.StringVarP(&x.target.Namespace, "namespace", "n", "", "namespace of a shadow, whose history the report has; default: all are searched, where you may")
	flags.StringVar(&x.target.Context, "context", "", "context of the kubeconfig; default: the current one")
}

// run reads, simulates and writes the report.
func (x *simulation) run(ctx context.Context, s streams) error {
	if x.schema {
		if _, err := io.WriteString(s.out, simulate.JSONSchema()); err != nil {
			return fmt.Errorf("simulate: schema write: %w", err)
		}
		return nil
	}
	write, known := map[string]func(*simulate.Report, io.Writer) error{
		"table": (*simulate.Report).WriteTable, "json": (*simulate.Report).WriteJSON,
		"markdown": (*simulate.Report).WriteMarkdown, "html": (*simulate.Report).WriteHTML,
	}[x.output]
	if !known {
		return usageError{fmt.Errorf("simulate: --output is %q: give table, json, markdown or html", x.output)}
	}
	options, fails, err := x.options()
	if err != nil {
		return usageError{fmt.Errorf("simulate: %w", err)}
	}
	cluster := simulate.NewCluster()
	var seen shadow.History
	if len(x.files) > 0 {
		err = readInto(ctx, cluster, x.files, s.in)
	} else {
		options.Now = time.Now()
		seen, err = x.ask(ctx, cluster)
	}
	if err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	if options.With, err = readObjects(ctx, x.with); err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	if options.Prices, err = readPrices(x.prices); err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	report, err := simulate.Run(ctx, cluster, options)
	if err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	report.Observed = seen.Observed()
	if err := write(report, s.out); err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	return judge(report, fails)
}

// The values of --prices that are no file.
const pricesEmbedded, pricesLive = "embedded", "live"

// readPrices reads --prices.
func readPrices(text string) (simulate.Prices, error) {
	switch text {
	case pricesEmbedded:
		return simulate.Prices{}, nil
	case pricesLive:
		return simulate.Prices{Asked: time.Now(), Cloud: func(ctx context.Context, region string) (market.Cloud, error) {
			return aws.New(ctx, aws.Config{Region: region, UserAgent: "karpenterd/" + version})
		}}, nil
	}
	data, err := os.ReadFile(text) //nolint:gosec // the user names the file to read
	if err != nil {
		return simulate.Prices{}, fmt.Errorf("--prices: %w: give embedded, live or the name of a file", err)
	}
	return simulate.ReadPrices(text, data) //nolint:wrapcheck // it says all
}

// condition is what --fail-if asks for.
type condition struct {
	text   string
	saving float64 // per cent; below 0 for pods without a place
}

// options reads the flags.
func (x *simulation) options() (simulate.Options, []condition, error) {
	o := simulate.Options{Region: x.region, Nodes: simulate.Nodes(x.nodes), For: x.length, Seed: x.seed, Advise: x.advise, Scratch: x.from == "scratch"}
	if x.from != "now" && x.from != "scratch" {
		return o, nil, fmt.Errorf("--from is %q: give now or scratch", x.from)
	}
	if x.nodes != "" && o.Nodes != simulate.OwnedNodes && o.Nodes != simulate.AllNodes {
		return o, nil, fmt.Errorf("--nodes is %q: give owned or all", x.nodes)
	}
	if x.length <= 0 {
		return o, nil, fmt.Errorf("--for is %s: give a duration above 0, such as 1h", x.length)
	}
	for _, text := range x.scales {
		scale, err := simulate.ParseScale(text)
		if err != nil {
			return o, nil, err //nolint:wrapcheck // it says all
		}
		o.Scales = append(o.Scales, scale)
	}
	var fails []condition
	for _, text := range x.failIf {
		part := regexp.MustCompile(`^saving>(\d+(?:\.\d+)?)%?$`).FindStringSubmatch(text)
		switch {
		case text == "unplaced":
			fails = append(fails, condition{text, -1})
		case part != nil:
			percent, err := strconv.ParseFloat(part[1], 64)
			if err != nil {
				return o, nil, fmt.Errorf("--fail-if %q: %w", text, err)
			}
			fails = append(fails, condition{text, percent})
		default:
			return o, nil, fmt.Errorf("--fail-if is %q: give unplaced, or saving>N%% such as saving>10%%", text)
		}
	}
	return o, fails, nil
}

// judge says whether the report has what --fail-if asks for.
func judge(r *simulate.Report, fails []condition) error {
	last := &r.Forecast
	if r.With != nil {
		last = r.With
	}
	for _, c := range fails {
		switch {
		case c.saving < 0 && len(last.CannotBePlaced) > 0 && len(last.CannotBePlaced[0].Example) > 0:
			return foundError{fmt.Errorf("simulate: --fail-if %s: %s cannot be placed, such as %s", c.text, quantity.Count(int64(last.UnplacedPods()), "pod"), last.CannotBePlaced[0].Example[0])}
		case c.saving >= 0 && last.SavingPercent() > c.saving:
			return foundError{fmt.Errorf("simulate: --fail-if %s: %.1f %% would be saved", c.text, last.SavingPercent())}
		}
	}
	return nil
}

// readInto reads dumps into the cluster.
func readInto(ctx context.Context, cluster *simulate.Cluster, names []string, in io.Reader) error {
	found := dump.Found{Objects: cluster.AddNumbered}
	if err := readFiles(ctx, &found, names, in); err != nil {
		return err
	}
	return cluster.AddFound(&found) //nolint:wrapcheck // it says all
}

// readObjects reads the objects of files.
func readObjects(ctx context.Context, names []string) (out []metav1.Object, err error) {
	if len(names) == 0 {
		return nil, nil
	}
	numbered := map[int][]metav1.Object{}
	found := dump.Found{Objects: func(number int, o metav1.Object) { numbered[number] = append(numbered[number], o) }}
	if err := readFiles(ctx, &found, names, nil); err != nil {
		return nil, err
	}
	if err := errors.Join(found.Faults...); err != nil {
		return nil, err
	}
	if len(found.Older) > 0 {
		return nil, fmt.Errorf("--with has a %s: convert it first, with karpenterd convert", found.Older[0].Kind)
	}
	for _, number := range slices.Sorted(maps.Keys(numbered)) {
		out = append(out, numbered[number]...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("--with %s: nothing in it is of a kind that decisions read", strings.Join(names, ", "))
	}
	return out, nil
}

// dumpNames are how the names of files in a folder end that are dumps or manifests.
func dumpNames() []string {
	return []string{".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz"}
}

func readFiles(ctx context.Context, found *dump.Found, names []string, in io.Reader) error {
	for _, name := range names {
		if name == "-" {
			if in == nil {
				return errors.New("--with cannot be standard input: name a file")
			}
			if err := found.Read(ctx, "stdin", in); err != nil {
				return err //nolint:wrapcheck // it says all
			}
			continue
		}
		files, err := filesIn(name)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := readDump(ctx, found, file); err != nil {
				return err
			}
		}
	}
	return nil
}

func readDump(ctx context.Context, found *dump.Found, name string) error {
	file, err := os.Open(name) //nolint:gosec // the user names the files to read
	if err != nil {
		return fmt.Errorf("dump open: %w", err)
	}
	defer func() { _ = file.Close() }()
	return found.Read(ctx, name, file) //nolint:wrapcheck // it says all
}

// filesIn is the file, or the dumps and manifests in the folder and below it.
func filesIn(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("dump open: %w", err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var out []string
	err = filepath.WalkDir(name, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && slices.ContainsFunc(dumpNames(), func(end string) bool { return strings.HasSuffix(path, end) }) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dump open: %w", err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("dump open: folder %s has no file that ends with %s", name, strings.Join(dumpNames(), ", "))
	}
	return out, nil
}

// ask reads the cluster of the kubeconfig. A kind that may not be listed, or is not there, is a
// note of the report. It returns what a shadow in the cluster has seen, too.
func (x *simulation) ask(ctx context.Context, cluster *simulate.Cluster) (shadow.History, error) {
	config, err := x.target.Config()
	if err != nil {
		return nil, err //nolint:wrapcheck // it says all
	}
	config.QPS, config.Burst = 50, 100
	clients, err := kube.NewClients(config)
	if err != nil {
		return nil, err
	}
	if err := listInto(ctx, cluster, clients); err != nil {
		return nil, err
	}
	seen, err := shadow.Find(ctx, clients.Core.CoreV1(), x.target.Namespace)
	if err != nil {
		cluster.Note("what a shadow has seen could not be read: %v", err)
	}
	return seen, nil
}

// listInto lists all kinds that decisions read.
func listInto(ctx context.Context, cluster *simulate.Cluster, clients *kube.Clients) error {
	var unserved []string
	for _, w := range watches(clients, false) {
		_, err := w.read(ctx, cluster.Add)
		switch {
		case apierrors.IsForbidden(err) && (w.what == "nodes" || w.what == "pods"):
			return fmt.Errorf("not allowed to list %s in all namespaces: give your user that right; without it nothing can be said: %w", w.what, err)
		case apierrors.IsForbidden(err):
			cluster.Note("not allowed to list %s, so none counts: give your user the right to list them in all namespaces", w.what)
		case apierrors.IsNotFound(err): // a cluster without Karpenter has none of its kinds
			unserved = append(unserved, w.what)
		case err != nil:
			return fmt.Errorf("%s list: %w", w.what, err)
		}
	}
	return askOlder(ctx, clients, cluster, unserved)
}
