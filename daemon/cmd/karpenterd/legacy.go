package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/karpenterd/terraform-provider-karpenter/daemon/internal/legacyapi"
	wire "github.com/karpenterd/terraform-provider-karpenter/internal/api/legacy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/kube"
)

// legacyEvery is how often the daemon asks whether the cluster has the kinds before v1 by
// now.
const legacyEvery = 30 * time.Second

// newLegacy makes what serves the kinds before v1.
func (d *daemon) newLegacy() *legacyapi.Server {
	return legacyapi.New(legacyapi.Config{
		World: d.world, Provisioners: d.kube.Provisioners, Templates: d.kube.AWSNodeTemplates,
		Kubernetes: func() int { return minorNumber(d.joined.now().Kubernetes) }, Events: d.events, Logger: d.logger.Named("legacy"), Setting: os.Getenv,
	})
}

// pools writes NodePools, and those that are made of Provisioners.
func (d *daemon) pools() legacyapi.Pools {
	return legacyapi.Pools{Server: d.legacy, Cluster: d.kube.NodePools}
}

// nodeClasses does the same for EC2NodeClasses.
func (d *daemon) nodeClasses() legacyapi.Classes {
	return legacyapi.Classes{Server: d.legacy, Cluster: d.kube.EC2NodeClasses}
}

// minorNumber is 36 of 1.36.
func minorNumber(version string) int {
	_, minor, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(minor)
	if err != nil {
		return 0
	}
	return n
}

// legacyWatches lists the kinds before v1.
func legacyWatches(c *kube.Clients) []watched {
	return []watched{
		watching(wire.ResourceAWSNodeTemplate+"."+wire.AWSGroup, c.AWSNodeTemplates, &unstructured.Unstructured{}),
		watching(wire.ResourceProvisioner+"."+wire.CoreGroup, c.Provisioners, &unstructured.Unstructured{}),
	}
}

// serveLegacy watches the kinds before v1 if the cluster has them. If not, it begins as soon
// as the cluster does, and the daemon may list them: all else works without. Call it when
// the world has all else.
func (d *daemon) serveLegacy(ctx context.Context) error {
	there, err := d.legacyThere(ctx)
	switch {
	case apierrors.IsForbidden(err):
		d.logger.Warn(notServedYet, "error", err)
	case err != nil:
		return err
	case there:
		return d.watchLegacy(ctx)
	}
	go d.awaitLegacy(ctx)
	return nil
}

const notServedYet = "objects of the APIs before v1 are not served; retrying"

// awaitLegacy asks again and again, until the objects are served or the context ends.
func (d *daemon) awaitLegacy(ctx context.Context) {
	ticker := time.NewTicker(legacyEvery)
	defer ticker.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		there, err := d.legacyThere(ctx)
		if err == nil && there {
			err = d.watchLegacy(ctx)
		}
		switch {
		case err == nil && there, ctx.Err() != nil:
			return
		case err != nil && err.Error() != said:
			said = err.Error()
			d.logger.Warn(notServedYet, "error", err)
		}
	}
}

// legacyThere says whether the cluster has the kinds before v1, by definitions that keep what
// the daemon writes. An error says that the daemon may not list them.
func (d *daemon) legacyThere(ctx context.Context) (bool, error) {
	for version, resource := range map[string]string{wire.VersionProvisioner: wire.ResourceProvisioner, wire.VersionAWSNodeTemplate: wire.ResourceAWSNodeTemplate} {
		found, err := d.kube.Core.Discovery().ServerResourcesForGroupVersion(version)
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("api %s discover: %w", version, err)
		}
		i := slices.IndexFunc(found.APIResources, func(r metav1.APIResource) bool { return r.Name == resource })
		if i < 0 {
			return false, nil
		}
		if !slices.Contains(found.APIResources[i].Categories, wire.Category) {
			d.foreign.Do(func() {
				d.logger.Warn("objects of the APIs before v1 are not served: their definitions are those of an older Karpenter, which keep no status of this daemon; "+
					"replace them: karpenterd definitions --legacy | kubectl apply --server-side --force-conflicts -f -", "api", version)
			})
			return false, nil
		}
	}
	for _, x := range legacyWatches(d.kube) {
		switch err := x.list(ctx, metav1.ListOptions{Limit: 1}); {
		case apierrors.IsForbidden(err):
			return false, fmt.Errorf("not allowed to list %s: give the daemon's service account its ClusterRole (the karpenter_daemon resource does): %w", x.what, err)
		case err != nil:
			return false, fmt.Errorf("%s list: %w", x.what, err)
		}
	}
	return true, nil
}

// watchLegacy returns when all objects are known.
func (d *daemon) watchLegacy(ctx context.Context) error {
	if err := d.readLegacySettings(ctx); err != nil {
		return err
	}
	var synced []cache.InformerSynced
	for _, x := range legacyWatches(d.kube) {
		started, err := x.start(ctx, withoutManagedFields, d.legacy.Observe, d.legacy.Forget)
		if err != nil {
			return err
		}
		synced = append(synced, started)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return ctx.Err()
	}
	d.logger.Info("objects of the APIs before v1 are served", "kinds", wire.KindProvisioner+", "+wire.KindAWSNodeTemplate)
	return nil
}

func withoutManagedFields(o metav1.Object) metav1.Object {
	o.SetManagedFields(nil)
	return o
}

// readLegacySettings reads the settings that Karpenter had before v1, if they are there.
func (d *daemon) readLegacySettings(ctx context.Context) error {
	found, err := d.kube.Core.CoreV1().ConfigMaps(d.config.Namespace).Get(ctx, wire.SettingsName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		d.logger.Warn("not allowed to get the settings of the APIs before v1, so they are taken for absent: give the daemon's service account its Role in the namespace", "configmap", wire.SettingsName, "error", err)
		return nil
	case err != nil:
		return fmt.Errorf("configmap %s get: %w", wire.SettingsName, err)
	}
	return d.legacy.Settings(found)
}
