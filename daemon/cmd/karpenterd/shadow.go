package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/market"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/page"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/shadow"
	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/simulate"
	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// errServedNow ends a shadow that has to watch more than it does.
var errServedNow = errors.New("the cluster serves now, and did not before")

// servedEvery is how often a shadow looks whether the cluster serves kinds that it did not.
const servedEvery = time.Minute

// shadow looks at the cluster until the context ends, once this replica is elected. It writes
// the Lease and the ConfigMap of the name install.ShadowName, and nothing else.
func (d *daemon) shadow(ctx context.Context, local *http.ServeMux) error {
	facts, table, err := d.table()
	if err != nil {
		return err
	}
	if _, err := d.reachCluster(); err != nil {
		return err
	}
	if err := d.reachAWS(ctx); err != nil {
		return err
	}
	keeper := shadow.New(shadow.Config{
		Region: d.config.Region, Namespace: d.config.Namespace, Settings: simulate.Settings{Policy: d.config.Policy, Spread: d.config.Spread, Overhead: d.config.Overhead},
		Store:  shadow.Store{ConfigMaps: d.kube.Core.CoreV1().ConfigMaps(d.config.Namespace)},
		Logger: d.logger.Named("shadow"), Publish: d.metrics.Shadow(),
	})
	serveShadow(local, keeper.View)
	catalogue := market.New(market.Config{
		Cloud: d.sales(), World: keeper, Store: market.Store{ConfigMaps: keptNowhere{}}, Logger: d.logger.Named("market"), Now: time.Now,
		Facts: facts, Market: table, Report: func(g []market.Group) { d.metrics.Catalogue(g); keeper.Answered(g) },
	})
	catalogue.Ahead(ctx) // the cluster is read meanwhile
	unserved, err := whenAnswered(ctx, d.logger, func() ([]string, error) { return unserved(ctx, d.kinds()) })
	if err != nil {
		return err
	}
	if err := d.watchServed(ctx, keeper, unserved); err != nil {
		return err
	}
	boundGarbage(os.Getenv)
	d.health.Ready()
	return kube.Lead(ctx, d.election(install.ShadowName), func(ctx context.Context) error {
		d.metrics.Leading(true)
		defer d.metrics.Leading(false)
		d.logger.Info("elected as a shadow: nothing is changed in the cluster or in AWS", "report", "karpenterd report --namespace "+d.config.Namespace)
		catalogue.Begin(ctx, catalogueWait)
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error {
			return keeper.Run(ctx, func() func() { return d.health.Begin("a look at the cluster", keeperWithin) })
		})
		group.Go(func() error { return d.servedNow(ctx, unserved) })
		d.repeat(ctx, group, []chore{{market.Every, "ask AWS what it sells", catalogue.Sweep}})
		return group.Wait()
	})
}

// kinds are those that decisions read.
func (d *daemon) kinds() []watched { return watches(d.kube, d.config.needsSelectors()) }

// unserved names the kinds that the cluster does not serve. Without Karpenter a cluster has none
// of its kinds.
func unserved(ctx context.Context, kinds []watched) ([]string, error) {
	missing, forbidden, _, err := listable(ctx, kinds)
	if err == nil && len(forbidden) > 0 {
		err = fmt.Errorf("not allowed to list %s: give the shadow's service account its ClusterRole (karpenterd manifests --shadow prints it)", strings.Join(forbidden, ", "))
	}
	return missing, err
}

// watchServed watches the kinds that the cluster serves, and returns when all objects are known.
func (d *daemon) watchServed(ctx context.Context, keeper *shadow.Keeper, unserved []string) error {
	if len(unserved) > 0 {
		d.logger.Info("the cluster does not serve all kinds that decisions read", "kinds", unserved)
	}
	served := slices.DeleteFunc(d.kinds(), func(x watched) bool { return slices.Contains(unserved, x.what) })
	return startAll(ctx, served, keeper.Keep, keeper.Observe, keeper.Forget)
}

// servedNow returns an error once the cluster serves one of the kinds: the next shadow
// watches it. It returns nil when the context ends.
func (d *daemon) servedNow(ctx context.Context, unserved []string) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(servedEvery):
		}
		for _, x := range d.kinds() {
			if !slices.Contains(unserved, x.what) {
				continue
			}
			if err := x.list(ctx, metav1.ListOptions{Limit: 1}); err == nil {
				return fmt.Errorf("%w, %s: starting anew", errServedNow, x.what)
			}
		}
	}
}

// notYet is what a shadow says before its first look.
const notYet = "This replica has not looked at the cluster yet: it has just started, or another one is elected."

// serveShadow serves what the shadow knows as JSON, and as a page that people read.
func serveShadow(mux *http.ServeMux, view func() shadow.View) {
	mux.Handle(install.ShadowPath, page.Guarded(simulate.PagePolicy, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		v := view()
		if v.Time.IsZero() {
			http.Error(w, notYet, http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v) // who asked is gone
	})))
	mux.Handle(page.Path, page.Guarded(simulate.PagePolicy, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Refresh", strconv.Itoa(int(shadow.Every/time.Second)))
		v := view()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		switch {
		case v.Failed != "":
			http.Error(w, "The last look at the cluster has failed: "+v.Failed, http.StatusServiceUnavailable)
		case v.Report == nil:
			http.Error(w, notYet, http.StatusServiceUnavailable)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_ = v.Report.WriteHTML(w) // who asked is gone
		}
	})))
}

// keptNowhere is the ConfigMap of a catalogue that is not kept: a shadow writes its history alone.
type keptNowhere struct{}

// Get returns nothing.
func (keptNowhere) Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error) {
	return &corev1.ConfigMap{}, nil
}

// Patch writes nothing.
func (keptNowhere) Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*corev1.ConfigMap, error) {
	return &corev1.ConfigMap{}, nil
}
