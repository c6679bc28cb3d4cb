package claim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/awsspec"
	"github.com/karpenterd/terraform-provider-karpenter/internal/pick"
)

const (
	// TemplatesEvery is how often to call TemplateCollector.Sweep.
	TemplatesEvery = 10 * time.Minute
	// templateLife is how long after its last launch a launch template stays.
	templateLife = time.Hour
	// templatesMost is how many launch templates one sweep tries to delete at most, and
	// templatesFaults after how many that it cannot delete it gives up.
	templatesMost, templatesFaults = 200, 3
)

// templatesInUse is what the Controller knows of launch templates, by name. The zero value is
// ready.
type templatesInUse struct {
	made  sync.Map // those that EC2 had when it was last asked, and when that was: time.Time
	named sync.Map // when a launch last named it: time.Time
}

// forget drops what no launch has named for so long that it is of no use.
func (t *templatesInUse) forget(now time.Time) {
	t.named.Range(func(name, at any) bool {
		if now.Sub(at.(time.Time)) >= 2*templateLife {
			t.named.Delete(name)
			t.made.Delete(name)
		}
		return true
	})
}

// young says whether EC2 may not know a template of the launch yet that was made a moment ago.
func (t *templatesInUse) young(names []string, now time.Time) bool {
	for _, name := range names {
		if at, made := t.made.Load(name); made && now.Sub(at.(time.Time)) < listingLag {
			return true
		}
	}
	return false
}

// TemplateCollector deletes the launch templates that launches need no more. A launch template
// is named after its content, and each new image, or change of a class or pool, makes others; an
// account may have 5,000 in a Region. One is deleted if in two sweeps it was there, no launch of
// this process has named it for an hour, and no NodeClaim that waits for its instance names it. Nothing is lost where a
// launch needs it again: the launch makes it anew. Karpenter's stay until their class is deleted,
// as a Karpenter that runs still may need them. It is for one goroutine.
type TemplateCollector struct {
	*Controller
	Counted func(int) // is told how many there are

	unused map[string]bool // in the last sweep
}

// Sweep deletes what was unused in the last sweep, and is so still.
func (c *TemplateCollector) Sweep(ctx context.Context, now time.Time) error {
	names, err := c.Cloud.LaunchTemplates(ctx, map[string]string{awsspec.TagClusterName: c.Cluster().Name, awsspec.TagNodeClass: "*"})
	if err != nil {
		return fmt.Errorf("launch templates list: %w", err)
	}
	frozen := map[string]bool{}
	for _, claim := range c.World.NodeClaims() {
		if claim.Status.ProviderID != "" {
			continue
		}
		if last, err := lastAttempt(claim); err == nil && last.frozen != nil {
			for _, name := range last.frozen.Request.Templates() {
				frozen[name] = true
			}
		}
	}
	left := len(names)
	names = pick.Those(names, awsspec.NamesLaunchTemplate)
	before, tried := c.unused, 0
	c.unused = map[string]bool{}
	var faults []error
	for _, name := range names {
		if at, named := c.templates.named.Load(name); frozen[name] || named && now.Sub(at.(time.Time)) < templateLife {
			continue
		}
		c.unused[name] = true
		if !before[name] || tried >= templatesMost || len(faults) >= templatesFaults {
			continue
		}
		tried++
		c.templates.made.Delete(name) // first: a launch from now on makes it anew
		if err := c.Cloud.DeleteLaunchTemplate(ctx, name); err != nil {
			faults = append(faults, err)
			continue
		}
		delete(c.unused, name)
		left--
	}
	c.templates.forget(now)
	if deleted := tried - len(faults); deleted > 0 {
		c.Logger.Info("launch templates that no launch has needed for an hour are deleted", "deleted", deleted, "left", left)
	}
	c.Counted(left)
	return errors.Join(faults...)
}
