package market

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/api/awsv1"
	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

const (
	// ReportsEvery is how often a ReportKeeper looks whether a node has reported something
	// new: sooner than a node that came in vain can be deleted.
	ReportsEvery = time.Second
	// reportsKey is where the ConfigMap has the reports, and reportsFormat changes when those
	// of an older release cannot be read any more.
	reportsKey    = "reports.json.gz"
	reportsFormat = 1
	// recountEvery is how often the types that are smaller are counted where nothing is new.
	recountEvery = 10 * time.Second
	// mostPause bounds the pauses between tries that fail; the first is ReportsEvery, and
	// the pause doubles.
	mostPause = 30 * time.Minute
)

// Reported is what a ReportKeeper keeps the reports for.
type Reported interface {
	Reports() (all catalog.Reports, changes int)
	Recall(reports catalog.Reports)
	EC2NodeClasses() []*awsv1.EC2NodeClass
	TypesOf(class string) (cluster.Class, bool)
}

// ReportRecorder tells users of instance types that have less for pods than expected: how many
// there are, and of each resource of each once.
type ReportRecorder interface {
	SmallerTypesCounted(byClass map[string]int)
	SmallerType(class *awsv1.EC2NodeClass, instanceType, resource string, has *plan.Reported)
}

// smallerType is what one Event is about.
type smallerType struct {
	class                  classID
	instanceType, resource string
}

// classID tells an EC2NodeClass from one that was made before under its name.
type classID struct {
	name string
	uid  types.UID
}

func idOf(c *awsv1.EC2NodeClass) classID { return classID{c.Name, c.UID} }

// ReportKeeper keeps what nodes have reported, so that a daemon that starts anew launches
// none in vain again. Begin and Sweep are for one goroutine.
type ReportKeeper struct {
	World  Reported
	Store  Store
	Logger hclog.Logger
	// Recorder tells users; nil tells nobody.
	Recorder ReportRecorder

	begun  bool // what is kept has been read
	saved  int  // the changes that are kept
	told   map[string]bool
	events map[smallerType]bool // that were sent, or need not be
	// recalled is what an earlier daemon has kept, and told of.
	recalled catalog.Reports
	looked   int // the changes that are logged
	paused   time.Duration
	recount  time.Time
	until    time.Time // of the pause after a failure
}

// keptReports is what the ConfigMap has, as gzipped JSON.
type keptReports struct {
	Format  int
	Reports []keptOrigin
}

type keptOrigin struct {
	catalog.Origin

	Types map[string]catalog.Report
}

// Begin gives the world what an earlier daemon has kept. It is called before the first
// decision. What cannot be read is logged and given up; where the API server does not
// answer, Sweep tries again.
func (k *ReportKeeper) Begin(ctx context.Context) {
	if err := k.restore(ctx); err != nil {
		k.Logger.Warn("what nodes have reported of their size could not be read yet; trying again", "error", err)
	}
}

func (k *ReportKeeper) restore(ctx context.Context) error {
	packed, err := k.Store.read(ctx, reportsKey)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	k.begun = true
	if len(packed) == 0 {
		return nil
	}
	reports, err := decodeReports(packed)
	if err != nil {
		k.Logger.Warn("what nodes have reported of their size cannot be read; it is learned anew", "error", unreadable(reportsKey, err))
		return nil
	}
	k.World.Recall(reports)
	k.recalled = maps.Clone(reports)
	return nil
}

// Sweep logs and keeps what is new.
func (k *ReportKeeper) Sweep(ctx context.Context, now time.Time) error {
	reports, changes := k.World.Reports()
	if changes != k.looked {
		k.looked = changes
		k.tell()
		k.recount = time.Time{}
	}
	if !now.Before(k.recount) { // a class may have another image by now
		k.recount = now.Add(recountEvery)
		k.record(reports)
	}
	if k.begun && changes == k.saved || now.Before(k.until) {
		return nil
	}
	err := k.store(ctx, reports, changes)
	if err == nil {
		k.paused, k.until = 0, time.Time{}
		return nil
	}
	k.paused = min(max(ReportsEvery, 2*k.paused), mostPause)
	k.until = now.Add(k.paused)
	return err
}

// store keeps the reports. It first reads what is kept, unless that has been done: else it
// would be lost.
func (k *ReportKeeper) store(ctx context.Context, reports catalog.Reports, changes int) error {
	if !k.begun {
		return k.restore(ctx) // the next Sweep writes
	}
	if err := k.Store.write(ctx, reportsKey, toKeep(reports), reportsMost); err != nil {
		return err
	}
	k.saved = changes
	return nil
}

func toKeep(reports catalog.Reports) keptReports {
	out := keptReports{Format: reportsFormat}
	for _, of := range slices.SortedFunc(maps.Keys(reports), catalog.Origin.Compare) {
		out.Reports = append(out.Reports, keptOrigin{of, reports[of]})
	}
	return out
}

// decodeReports reads what is kept. The daemon wrote it; what a node cannot have reported is
// somebody else's, and then nothing of it counts.
func decodeReports(packed []byte) (catalog.Reports, error) {
	var k keptReports
	if err := unpack(packed, &k); err != nil {
		return nil, err
	}
	if k.Format != reportsFormat {
		return nil, errForeign
	}
	out := catalog.Reports{}
	for _, x := range k.Reports {
		for name, r := range x.Types {
			if x.Class == "" || x.Image == "" || name == "" {
				return nil, errSenseless
			}
			for _, f := range r {
				if f.Least < 0 || f.Least == 0 && f.Short == 0 { // of devices, there may be none
					return nil, errSenseless
				}
			}
		}
		out[x.Origin] = x.Types
	}
	return out, nil
}

// tell logs once for each class and resource where plans count on less than the catalogue
// says, and which node said so.
func (k *ReportKeeper) tell() {
	classes := k.World.EC2NodeClasses()
	slices.SortFunc(classes, func(a, b *awsv1.EC2NodeClass) int { return strings.Compare(a.Name, b.Name) })
	told := map[string]bool{}
	for _, c := range classes {
		class, _ := k.World.TypesOf(c.Name)
		for i := range class.Types {
			t := &class.Types[i]
			for _, s := range t.Smaller {
				reported := t.Allocatable.Get(s.Resource)
				key := fmt.Sprintf("%s/%s/%s/%d", c.Name, s.Resource, s.Node, reported)
				if !told[key] && !k.told[key] {
					k.Logger.Info("a node has less for pods than the catalogue says; plans count on what the node reported, for this instance type and those of which the catalogue says the same",
						"ec2nodeclass", c.Name, "node", s.Node, "resource", s.Resource, "reported", reported, "catalogue", s.Listed, "instance_type", t.Name)
				}
				told[key] = true
			}
		}
	}
	k.told = told
}

// record counts the types of which nodes of each class have reported less than expected, and
// sends an Event about each that is new. A type that is taken to be smaller because others
// like it are counts when a node of it has reported.
func (k *ReportKeeper) record(reports catalog.Reports) {
	if k.Recorder == nil {
		return
	}
	if k.events == nil {
		k.events = map[smallerType]bool{}
	}
	classes, count := k.World.EC2NodeClasses(), map[string]int{}
	k.forgetAllBut(classes)
	for _, c := range classes {
		class, _ := k.World.TypesOf(c.Name)
		count[c.Name] = 0
		for i := range class.Types {
			t, own := &class.Types[i], false
			for _, s := range t.Smaller {
				if !reported(reports, c.Name, t.Name, s) {
					continue
				}
				own = true
				key := smallerType{idOf(c), t.Name, s.Resource}
				if !k.events[key] {
					k.events[key] = true
					if reported(k.recalled, c.Name, t.Name, s) {
						continue
					}
					k.Recorder.SmallerType(c, t.Name, s.Resource, &plan.Reported{Node: s.Node, Amount: t.Allocatable.Get(s.Resource), Listed: s.Listed})
				}
			}
			if own {
				count[c.Name]++
			}
		}
	}
	k.Recorder.SmallerTypesCounted(count)
}

// forgetAllBut forgets what was told of classes that are deleted, also before a restart. A class
// that is made again under the name is another object: it has no Event yet.
func (k *ReportKeeper) forgetAllBut(classes []*awsv1.EC2NodeClass) {
	for key := range k.events {
		if slices.ContainsFunc(classes, func(c *awsv1.EC2NodeClass) bool { return idOf(c) == key.class }) {
			continue
		}
		delete(k.events, key)
		maps.DeleteFunc(k.recalled, func(of catalog.Origin, _ map[string]catalog.Report) bool { return of.Class == key.class.name })
	}
}

// reported says whether the node that reported less is one of the class and instance type.
func reported(reports catalog.Reports, class, instanceType string, s catalog.Smaller) bool {
	for of, byType := range reports {
		if of.Class == class && byType[instanceType][s.Resource].Node == s.Node {
			return true
		}
	}
	return false
}
