package engine_test

import (
	"fmt"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/catalog"
	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/plan"
)

// shortKeys are what scripts call topology keys.
var shortKeys = map[string]string{"zone": label.Zone, "host": label.Hostname, "capacity": label.CapacityType}

// shape gives a pod what the options of a script's line ask for: tolerate=K=V:E,
// select=K=V, spread=KEY:SKEW, spread?=KEY:SKEW (may be broken), apart=KEY[:APP],
// apart?=KEY[:APP], together=KEY[:APP], together?=KEY[:APP] (with pods of the same
// or another app), prefer=K=V, port=N, volume=ZONE, priority=N, gang=NAME:SIZE, owner=KIND or none,
// keep=true (do-not-disrupt) or keep=DURATION from now. Its label app is its name.
func (s *scenario) shape(p *cluster.Pod, app string, options map[string]string) {
	s.t.Helper()
	p.Labels = label.FromMap(map[string]string{"app": app})
	for name, value := range options {
		first, second, _ := strings.Cut(value, ":")
		key := or(shortKeys[first], first)
		weight := int32(0)
		option, soft := strings.CutSuffix(name, "?")
		if soft {
			weight = 10
		}
		switch option {
		case "tolerate":
			x := parseTaint(value)
			p.Shape.Tolerations = []cluster.Toleration{{Key: x.Key, Value: x.Value, Effect: x.Effect}}
		case "select":
			k, v, _ := strings.Cut(value, "=")
			p.Shape.Selector = label.All(label.Is(k, v))
		case "spread":
			p.Shape.Spread = append(p.Shape.Spread, cluster.Spread{Key: key, MaxSkew: s.number(second), Soft: soft, Selector: pods(app)})
		case "apart":
			p.Shape.PodAntiAffinity = append(p.Shape.PodAntiAffinity, term(key, weight, or(second, app)))
		case "together":
			p.Shape.PodAffinity = append(p.Shape.PodAffinity, term(key, weight, or(second, app)))
		case "prefer":
			k, v, _ := strings.Cut(value, "=")
			p.Shape.Preferred = append(p.Shape.Preferred, cluster.Preference{Weight: 10, Node: label.All(label.Is(or(shortKeys[k], k), v))})
		case "port":
			p.Shape.Ports = append(p.Shape.Ports, cluster.HostPort{IP: "0.0.0.0", Protocol: "TCP", Port: int32(s.number(value))})
		case "volume":
			p.Shape.Volumes = append(p.Shape.Volumes, []label.Requirements{label.All(label.Is(label.Zone, value))})
		case "priority":
			p.Shape.Priority = int32(s.number(value))
		case "keep":
			if p.DoNotDisrupt = value == "true"; !p.DoNotDisrupt {
				p.ProtectedUntil = s.now.Add(s.duration(value))
			}
		case "owner":
			if p.Owner = (cluster.Owner{UID: "uid-" + app, Kind: value, Name: app}); value == "none" {
				p.Owner = cluster.Owner{}
			}
		case "gang":
			p.Shape.Gang = cluster.Gang{Name: first, Size: s.number(second)}
		default:
			s.t.Fatalf("unknown option %q", name)
		}
	}
}

func pods(app string) cluster.PodSelector {
	return cluster.PodSelector{Match: label.All(label.Is("app", app))}
}

func term(key string, weight int32, app string) cluster.PodTerm {
	return cluster.PodTerm{
		Weight: weight, Key: key, Selector: pods(app), Namespaces: []string{"default"}, InNamespaces: cluster.PodSelector{Nothing: true},
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// reserve adds a reservation of n instances of the type in zone a.
func (s *scenario) reserve(name string, n int64) {
	for i := range s.objects.Classes[0].Types {
		if t := &s.objects.Classes[0].Types[i]; t.Name == name {
			t.Offerings = append(t.Offerings, catalog.Offering{
				Zone: "a", CapacityType: label.Reserved, Available: true, Reservation: "cr-" + name, Left: n,
			})
		}
	}
}

// tellOutcomes writes what a plan's actions do not show: pods without a place
// and preferences that were given up.
func (s *scenario) tellOutcomes(list []plan.Outcome) {
	for _, o := range list {
		if o.Verdict == plan.Unplaceable || o.Verdict == plan.Waiting {
			fmt.Fprintf(&s.out, "  %s\n", o.Explain())
		}
		if len(o.Dropped) > 0 {
			fmt.Fprintf(&s.out, "  %s x%d on %s without %s\n", o.Pods[0], len(o.Pods), o.On, strings.Join(o.Dropped, ", "))
		}
	}
}
