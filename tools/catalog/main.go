package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog/embedded/facts"
)

const (
	pricesFromAPI    = "api"
	pricesFromTables = "tables"
)

type options struct {
	regions  []string
	endpoint string
	prices   string
	out      string
	ec2      catalog.Source // what EC2 facts are said to be from
	today    time.Time
	older    older

	karpenter karpenter // whose tables are read
	renew     bool      // only what comes from tables is written anew
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.renew {
		return renew(o)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return refresh(ctx, o)
}

func parse(args []string) (options, error) {
	o := options{today: time.Now().UTC()}
	flags := flag.NewFlagSet("catalog", flag.ContinueOnError)
	regions := flags.String("regions", "us-east-1,us-west-2,eu-west-1,ap-northeast-2", "regions to refresh, comma-separated")
	flags.StringVar(&o.endpoint, "endpoint", "", "URL that answers for EC2 and Pricing; empty is AWS")
	flags.StringVar(&o.prices, "prices", pricesFromAPI, "on-demand prices: api (the Pricing service) or tables (published ones)")
	flags.StringVar(&o.out, "out", "../../internal/catalog/embedded/facts", "folder of the facts")
	flags.StringVar(&o.ec2.Text, "source", "EC2 API", "what to call the source of EC2's facts")
	flags.StringVar(&o.ec2.Date, "date", o.today.Format(time.DateOnly), "day of EC2's facts")
	release := flags.String("karpenter", "", "folder of karpenter-provider-aws in the module cache, whose tables are read")
	flags.BoolVar(&o.renew, "renew", false, "ask nobody, and write anew what comes from tables in the facts that are there")
	families := flags.String("older-families", "", "families that -older-endpoint adds, comma-separated")
	flags.StringVar(&o.older.endpoint, "older-endpoint", "", "URL that answers as EC2 did when it still listed the families of -older-families")
	flags.StringVar(&o.older.source.Text, "older-source", "", "what to call the source of these families' facts")
	flags.StringVar(&o.older.source.Date, "older-date", "", "day of these families' facts")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var err error
	if o.karpenter, err = findKarpenter(*release); err != nil {
		return o, err
	}
	if *families != "" {
		o.older.families = strings.Split(*families, ",")
	}
	if err := o.older.check(); err != nil {
		return o, err
	}
	if o.prices != pricesFromAPI && o.prices != pricesFromTables {
		return o, fmt.Errorf("-prices is %q; use %s or %s", o.prices, pricesFromAPI, pricesFromTables)
	}
	o.regions = strings.Split(*regions, ",")
	return o, nil
}

func refresh(ctx context.Context, o options) error {
	prices, err := newPriceList(o)
	if err != nil {
		return err
	}
	byName := map[string]catalog.Fact{}
	markets := map[string]catalog.Market{}
	for _, region := range o.regions {
		ec2, err := newEC2(ctx, region, o.endpoint, prices.tables)
		if err != nil {
			return err
		}
		if err := ec2.addTypes(ctx, byName, anyType); err != nil {
			return err
		}
		m, err := ec2.market(ctx, o, prices, byName)
		if err != nil {
			return fmt.Errorf("market of %s: %w", region, err)
		}
		markets[region] = m
		fmt.Printf("%s: %d types in %d zones, %d on-demand prices (%d estimated), spot estimated: %t\n",
			region, len(m.Offered), len(m.Zones), len(m.OnDemand), len(m.OnDemandIsEstimate), m.SpotIsEstimate)
	}
	return write(o, prices.tables.sources(), byName, markets)
}

func write(o options, published []catalog.Source, byName map[string]catalog.Fact, markets map[string]catalog.Market) error {
	types := facts.Types{}
	var names []string
	for _, f := range byName {
		types.Facts = append(types.Facts, f)
		names = append(names, f.Name)
	}
	types.Sources = append([]catalog.Source{{Group: "instance types", Date: o.ec2.Date, Text: o.ec2.Text + o.older.note(names)}}, published...)
	if err := writeFacts(o.out, "types", types.Encode()); err != nil {
		return err
	}
	for region, m := range markets {
		for name := range m.Offered {
			if _, known := byName[name]; !known {
				delete(m.Offered, name) // no Linux node runs on it: macOS, Xen paravirtual
			}
		}
		if err := writeFacts(o.out, region, facts.EncodeMarket(m)); err != nil {
			return err
		}
	}
	fmt.Printf("%d instance types\n", len(byName))
	return nil
}

// writeFacts writes the facts of the name.
func writeFacts(folder, name string, data []byte) error {
	if err := os.WriteFile(filepath.Join(folder, name+".tsv"), data, 0o644); err != nil { //nolint:gosec // source files are for all to read
		return fmt.Errorf("facts write: %w", err)
	}
	return nil
}
