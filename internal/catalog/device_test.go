package catalog

import (
	"testing"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/quantity"
)

func gpus(n int64) quantity.Resources { return quantity.Resources{}.Extend("nvidia.com/gpu", n) }

// joins is a machine of eight devices, which joins after so long and has so many then.
type joins struct {
	node      string
	joined    time.Duration
	has       int64
	at        time.Duration
	want      int64 // devices that plans count on afterwards
	unchanged bool
}

func TestReports_DevicesAreFewerWhereTheYoungestNodeAndTheOneBeforeHaveFewer(t *testing.T) {
	for name, steps := range map[string][]joins{
		"one node alone":                 {{"a", 0, 7, 0, 8, false}},
		"two in a row":                   {{"a", 0, 7, 0, 8, false}, {"b", time.Minute, 7, time.Minute, 7, false}},
		"a whole one between":            {{"a", 0, 7, 0, 8, false}, {"b", 1, 8, 1, 8, false}, {"c", 2, 7, 2, 8, false}},
		"a whole one afterwards":         {{"a", 0, 7, 0, 8, false}, {"b", 1, 7, 1, 7, false}, {"c", 2, 8, 2, 8, false}},
		"one that broke later":           {{"a", 0, 8, 0, 8, true}, {"b", 1, 7, 1, 8, false}, {"a", 0, 6, 2, 8, true}},
		"they come one after the other":  {{"a", 0, 7, 0, 8, false}, {"b", 1, 3, 1, 3, false}, {"b", 1, 6, 2, 6, false}, {"b", 1, 8, 3, 8, false}},
		"one breaks of the youngest":     {{"a", 0, 7, 0, 8, false}, {"b", 1, 7, 1, 7, false}, {"b", 1, 5, 2, 7, true}},
		"none yet":                       {{"a", 0, 0, devicesWithin - 1, 8, true}, {"b", 1, 0, devicesWithin - 1, 8, true}},
		"none at all":                    {{"a", 0, 0, devicesWithin, 8, false}, {"b", 1, 0, devicesWithin + 1, 0, false}},
		"none for long, then all":        {{"a", 0, 0, devicesWithin, 8, false}, {"a", 0, 8, time.Hour, 8, false}, {"b", time.Hour, 0, 2 * time.Hour, 8, false}},
		"it no longer counts":            {{"a", 0, 7, 0, 8, false}, {"b", 1, 7, 1, 7, false}, {"b", 1, 7, 1 + deviceLife, 8, true}},
		"and the next one says the same": {{"a", 0, 7, 0, 8, false}, {"b", 1, 7, 1, 7, false}, {"c", deviceLife + 1, 7, deviceLife + 1, 7, false}},
		"another node of the same name":  {{"a", 0, 7, 0, 8, false}, {"a", time.Hour, 7, time.Hour, 7, false}},
	} {
		var all Reports
		types := []InstanceType{{Name: "p5", Allocatable: gpus(8)}}
		for i, s := range steps {
			now := reportedAt.Add(s.at)
			next, changed := all.WithDevices(origin, "p5", Machine{Node: s.node, Joined: reportedAt.Add(s.joined), Has: gpus(s.has), Listed: gpus(8)}, now)
			if all = next; changed == s.unchanged {
				t.Errorf("%s, step %d: changed %t", name, i, changed)
			}
			got := AsReported(types, all.Of("default", "s", []string{"ami-1"}, now))[0]
			if n := got.Allocatable.Get("nvidia.com/gpu"); n != s.want {
				t.Errorf("%s, step %d: %d devices planned, want %d", name, i, n, s.want)
			}
		}
	}
}

func TestReports_MergedTheYoungestNodeTellsOfDevices(t *testing.T) {
	with := func(node string, joined time.Duration, has int64) Reports {
		all, _ := Reports{}.WithDevices(origin, "p5", Machine{Node: node, Joined: reportedAt.Add(joined), Has: gpus(has), Listed: gpus(8)}, reportedAt.Add(joined))
		return all
	}
	old, young := with("a", 0, 3), with("b", time.Hour, 7)
	for _, all := range []Reports{old.Merge(young), young.Merge(old)} {
		if f := all[origin]["p5"]["nvidia.com/gpu"]; f.Node != "b" || f.Least != 7 {
			t.Errorf("merged %+v", f)
		}
	}
}
