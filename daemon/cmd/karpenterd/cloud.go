package main

import (
	"context"
	"fmt"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/claim"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/drifted"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/interruption"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/nodeclass"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/telemetry"
	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	v1 "github.com/karpenterd/terraform-provider-karpenter/internal/api/v1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
	"github.com/karpenterd/terraform-provider-karpenter/internal/translate"
)

// classes makes the reconciler of EC2NodeClasses.
func (d *daemon) classes() *nodeclass.Reconciler {
	return nodeclass.New(nodeclass.Config{
		Cluster: d.joined.now, Region: d.config.Region, Cloud: nodeclass.Share(d.aws, time.Now), Objects: d.world, Writer: d.nodeClasses(),
		Logger: d.logger.Named("ec2nodeclass"), Now: time.Now, Counted: d.world.ReservationsCounted, Addresses: d.world.AddressesCounted, Catalogue: d.market.State,
		Isolated: d.config.IsolatedVPC, Queues: d.metrics.Queues(), ProfilesCounted: d.metrics.InstanceProfiles,
		Expressions: func(class *awsv1.EC2NodeClass) error {
			facts, market := d.world.Sold()
			return translate.CheckExpressions(class, facts, market, d.config.Overhead)
		},
	})
}

// catalogue makes the keeper of what AWS sells.
func (d *daemon) catalogue(facts []catalog.Fact, table catalog.Market) *market.Keeper {
	return market.New(market.Config{
		Cloud: d.sales(), World: d.world, Store: d.store(),
		Logger: d.logger.Named("market"), Now: time.Now, Facts: facts, Market: table, Report: d.metrics.Catalogue,
	})
}

// sales is AWS, as it says what it sells.
func (d *daemon) sales() market.Cloud {
	if d.config.IsolatedVPC {
		return isolated{d.aws}
	}
	return d.aws
}

// isolated is AWS as it is seen from a network that has no way to the Price List.
type isolated struct{ market.Cloud }

// OnDemandPrices asks nobody.
func (isolated) OnDemandPrices(context.Context) (map[string]quantity.Money, error) {
	return nil, fmt.Errorf("on-demand prices get: %w, as --isolated-vpc ($%s) says that the Price List cannot be reached", market.ErrNotAsked, install.EnvIsolatedVPC)
}

// reported makes the keeper of what nodes have reported.
func (d *daemon) reported() *market.ReportKeeper {
	return &market.ReportKeeper{World: d.world, Store: d.store(), Logger: d.logger.Named("market")}
}

func (d *daemon) store() market.Store {
	return market.Store{ConfigMaps: d.kube.Core.CoreV1().ConfigMaps(d.config.Namespace)}
}

// inCurrency says what prices mean in a region where AWS does not write them in dollars;
// "" where it does.
func inCurrency(region string) string {
	currency := aws.Currency(region)
	if currency == "USD" {
		return ""
	}
	return fmt.Sprintf("AWS writes the prices of the region in %[1]s, and nothing is converted: in the log, in Events and in metrics, read $ and dollars as %[1]s. "+
		"Only the prices of volumes and of public addresses are in dollars, which count as so many %[1]s: give --node-cost ($%[2]s) in %[1]s, and raise it by what they lack", currency, install.EnvNodeCost)
}

// listedOnce is AWS where the instances of the cluster are those of the collector's last sweep.
type listedOnce struct {
	drifted.Cloud

	collector *claim.Collector
}

func (l listedOnce) Instances(ctx context.Context, tags map[string]string) ([]aws.Instance, error) {
	return l.collector.Instances(ctx, tags) //nolint:wrapcheck // it is the same call
}

// drift makes the keeper of the condition Drifted.
func (d *daemon) drift(r *telemetry.Recorder, collector *claim.Collector) *drifted.Keeper {
	return &drifted.Keeper{
		World: d.world, Claims: d.kube.NodeClaims, Pools: d.pools(), Classes: d.nodeClasses(),
		Cloud: listedOnce{d.aws, collector}, Cluster: d.config.ClusterName, Recorder: r,
	}
}

// interruptions makes the listener of the interruption queue; without a queue it
// does nothing.
func (d *daemon) interruptions(r witness, claims *claim.Controller) interface{ Run(context.Context) } {
	if d.config.Queue == "" {
		d.logger.Warn("no interruption queue is configured, so the daemon does not learn of interruptions: set --interruption-queue ($" + install.EnvInterruptionQueue + ")")
		return idle{}
	}
	return &interruption.Listener{
		Queue: d.aws, Name: d.config.Queue, Notice: d.config.Notice, Count: d.metrics.Message, Logger: d.logger.Named("interruption"),
		Age: d.metrics.MessageAge, Deleted: d.metrics.MessagesDeleted,
		Handle: (&interruption.Marker{
			World: d.world, Claims: d.kube.NodeClaims, Logger: d.logger, Now: time.Now,
			Told: func(c *v1.NodeClaim, kind string, deadline time.Time) {
				r.Interrupted(c, kind, deadline)
				if kind == string(interruption.SpotInterrupted) {
					claims.Warned(c)
				}
			},
		}).Handle,
	}
}

type idle struct{}

func (idle) Run(context.Context) {}
