package provider_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
	"github.com/karpenterd/terraform-provider-karpenter/internal/share"
)

// The sweep plays every operation of a resource again and again. Each time another call
// of the operation fails, in another way. Then it goes on as Terraform does, and holds
// that nothing is replaced, nothing of somebody else is touched, nothing is lost from the
// state, and each plan says what is true.

// scene is where one case is played: services behind a gate, with things of somebody
// else in them.
type scene struct {
	gate   *gate
	config object // the provider's: it reaches the services through the gate
	// look lists all that the services hold.
	look func() map[string]wire.Thing
	// snapshot returns a function that brings back what the services hold now; nil: a case
	// that has changed something ends with clean.
	snapshot func() (restore func())
	clean    func() // removes what is not somebody else's
	// resolve puts ids of this scene into a configuration; nil: there are none in it.
	resolve func(object) object
	// meddle is what somebody does before an operation, by the name of the operation.
	meddle map[string]func()
}

// sweep is a resource with the configurations that it gets.
type sweep struct {
	kind string
	id   string // as errors name the object
	// renamed is the first configuration with another name, which the resource gets without
	// a replacement; nil: there is no such name. Errors may use either name.
	renamed object
	newID   string
	// An update goes from the first configuration to the second, back the other way. What
	// changes is what needs the most calls.
	first, second object
	setting       func(t *testing.T) *scene
	// remade tells that the operation remake is played: an update after something that
	// was made is gone.
	remade bool
	faults []fault
	turns  bool // see faultsOf
	oneIn  int  // a run of the tests plays one in so many calls; 0: each. See package share
	once   bool // without the operation back
	// unproven tells that what a killed run has made cannot be told from what others have: it
	// is used as it is, and the destroy leaves it and names it.
	unproven bool
	writes   func(call string) bool   // whether a call can meet another writer
	denial   func(call string) string // what the error says of a call that was denied
}

// operation is one thing that Terraform does with a resource.
type operation struct {
	name     string
	from, to object // from nil: nothing exists; to nil: it is destroyed
	reads    bool
}

func (s *sweep) operations() []operation {
	all := []operation{
		{name: "create", to: s.first},
		{name: "read", from: s.first, to: s.first, reads: true},
		{name: "update", from: s.first, to: s.second},
		{name: "delete", from: s.second},
	}
	if !s.once {
		all = append(all, operation{name: "back", from: s.second, to: s.first})
	}
	if s.renamed != nil {
		all = append(all, operation{name: "rename", from: s.first, to: s.renamed})
	}
	if s.remade {
		all = append(all, operation{name: "remake", from: s.first, to: s.first})
	}
	return all
}

// run plays all cases of the resource.
func (s *sweep) run(t *testing.T) {
	t.Helper()
	t.Run(s.kind, func(t *testing.T) {
		for _, op := range s.operations() {
			t.Run(op.name, func(t *testing.T) {
				first := s.begin(t, op)
				calls, target := first.record()
				if len(calls) == 0 {
					t.Fatal("the operation makes no calls: there is nothing to sweep")
				}
				cases, seen := 0, map[string]bool{}
				for _, i := range s.drawn(t.Name(), len(calls)) {
					call := calls[i]
					for _, f := range s.faultsOf(i, call) {
						cases++
						t.Run(fmt.Sprintf("%d-%s/%s", i+1, strings.ReplaceAll(call, " ", "-"), f), func(t *testing.T) {
							first.onceMore(t).play(i+1, call, f, target, seen)
						})
					}
				}
				t.Logf("%s %s: %d calls, %d cases, which end in %d situations", s.kind, op.name, len(calls), cases, len(seen))
			})
		}
	})
}

// drawn are the calls, counted from 0, that get faults in this run of the tests.
func (s *sweep) drawn(name string, calls int) []int {
	all := make([]int, calls)
	for i := range all {
		all[i] = i
	}
	return share.Of(name, max(1, s.oneIn), all)
}

// faultsOf are the faults that call i, counted from 0, gets. Only a write can meet another
// writer. Where a sweep takes turns, a call gets one fault in which nothing is carried out
// and one in which the call is, unless all is played.
func (s *sweep) faultsOf(i int, call string) []fault {
	var without, with []fault
	for _, f := range s.faults {
		switch {
		case f == conflict && !s.writes(call), f == killedAfter && !s.writes(call):
		case f == killedBefore, f == denied, f == throttled, f == conflict:
			without = append(without, f)
		default:
			with = append(with, f)
		}
	}
	if s.turns {
		of := fmt.Sprint(s.kind, i, call)
		without, with = share.Of(of, len(without), without), share.Of(of, len(with), with)
	}
	return append(without, with...)
}

// player is one case while it is played.
type player struct {
	*scene
	t       *testing.T
	s       *sweep
	h       *harness
	i       *instance
	op      operation
	initial map[string]wire.Thing // what somebody else has
	start   map[string]wire.Thing // what the services hold before the operation
	restore func()                // brings that back; nil: see scene
	second  object                // what an apply changes after a creation that was killed
	leaves  bool                  // the destroy may leave what it names: see unproven
}

// begin makes what exists before the operation.
func (s *sweep) begin(t *testing.T, op operation) *player {
	t.Helper()
	p := &player{scene: s.setting(t), t: t, s: s, op: op, second: s.second}
	if p.resolve != nil {
		for _, config := range []*object{&p.op.from, &p.op.to, &p.second} {
			if *config != nil {
				*config = p.resolve(*config)
			}
		}
	}
	p.initial = p.look()
	p.h = hasty(t, p.config)
	p.i = p.h.resource(s.kind)
	if op.from != nil {
		wantNoError(t, p.i.apply(p.op.from))
	}
	if meddle := p.meddle[op.name]; meddle != nil {
		meddle()
	}
	wantNoError(t, p.i.read())
	p.start = p.look()
	if p.snapshot != nil {
		p.restore = p.snapshot()
	}
	p.another()
	return p
}

// onceMore is the player of another case, which begins as this one did.
func (p *player) onceMore(t *testing.T) *player {
	t.Helper()
	if p.restore != nil {
		p.restore()
	} else if !cmp.Equal(p.start, p.look()) {
		p.clean()
		*p = *p.s.begin(p.t, p.op)
	}
	next := *p
	next.t, next.h = t, &harness{t: t, schema: p.h.schema}
	begun := *p.i
	next.i = &begun
	next.another()
	return &next
}

// another is a run of Terraform after another: a new process of the provider.
func (p *player) another() {
	p.t.Helper()
	p.h = p.h.again(p.config)
	p.i.h = p.h
}

// do carries out the operation. The plan comes before the watch of the gate.
func (p *player) do(n int, f fault) (diags []*tfprotov6.Diagnostic, calls []string, hit bool) {
	p.t.Helper()
	watch := func() { p.gate.watch(n, f, p.h.stop) }
	switch {
	case p.op.reads:
		watch()
		diags = p.i.read()
	case p.op.to == nil:
		watch()
		diags = p.i.destroy()
	default:
		planned := p.i.planned(p.op.to)
		watch()
		diags = p.i.change(planned.value, planned.config, planned.private)
	}
	calls, hit = p.gate.open()
	return diags, calls, hit
}

// record plays the operation without a fault. It returns the names of the calls, and
// what the services hold in the end.
func (p *player) record() (calls []string, target map[string]wire.Thing) {
	p.t.Helper()
	begun := *p.i
	diags, calls, _ := p.do(0, "")
	wantNoError(p.t, diags)
	target = p.look()
	if p.op.to != nil {
		p.i.settled(p.op.to)
	}
	p.finish()
	p.i = &begun
	return calls, target
}

// finish destroys the resource, and fails if anything is left.
func (p *player) finish() {
	p.t.Helper()
	diags := p.i.destroy()
	wantNoError(p.t, diags)
	if p.leaves {
		p.theirs(p.look())
		if d := cmp.Diff(p.initial, p.look()); d != "" && !warns(diags, "stays") {
			p.t.Errorf("nothing says what the destroy has left: %s", d)
		}
		return
	}
	if d := cmp.Diff(p.initial, p.look()); d != "" {
		p.t.Errorf("after the destroy there is not what was there before: %s", d)
	}
}

// play lets call n of the operation fail, and goes on. Many cases end in the same
// situation: from there it goes on once.
func (p *player) play(n int, call string, f fault, target map[string]wire.Thing, seen map[string]bool) {
	before, begun := p.i.state, *p.i
	diags, _, hit := p.do(n, f)
	if !hit {
		p.t.Fatalf("the fault did not hit: there was no call %d", n)
	}
	now := p.look()
	p.theirs(now)
	if f.kills() {
		p.killed(begun, now, target, seen)
		return
	}
	p.explained(diags, call, f)
	failed := hasError(diags)
	switch {
	case p.op.reads:
		p.sameState(before)
	case p.op.to == nil && failed:
		p.sameState(before)
	case p.op.from == nil && failed:
		wantNothingMade(p.t, p.i)
		if d := cmp.Diff(p.initial, now); d != "" {
			p.t.Errorf("the failed creation left something: %s", d)
		}
	}
	situation := p.situation(now, failed)
	if seen[situation] {
		return
	}
	seen[situation] = true
	p.another()
	p.goOn(failed, now, target)
}

// killed goes on after the provider was killed. Terraform has what it had before the
// operation. What a killed creation has made is taken up, with a warning.
func (p *player) killed(begun instance, now, target map[string]wire.Thing, seen map[string]bool) {
	p.t.Helper()
	*p.i, p.leaves = begun, p.s.unproven
	p.another()
	situation := p.situation(now, true)
	if seen[situation] {
		return
	}
	seen[situation] = true
	if p.op.from != nil || p.op.to == nil {
		p.goOn(false, now, target)
		return
	}
	diags := p.i.apply(p.op.to)
	wantNoError(p.t, diags)
	if differs(p.initial, now) != "" && !p.s.unproven && !warns(diags, "was cut off") {
		p.t.Errorf("nothing says that the apply has taken up what there was: %s", differs(p.initial, now))
	}
	p.i.settled(p.op.to)
	after := p.look()
	p.theirs(after)
	if d := differs(target, after); d != "" {
		p.t.Errorf("the next apply does not make what an apply without a fault makes: %s", d)
	}
	for key, thing := range now {
		if after[key].Content != "" && firstOf(thing.Identity) != firstOf(after[key].Identity) {
			p.t.Errorf("%s was replaced", key)
		}
	}
	p.another()
	wantNoError(p.t, p.i.apply(p.second))
	p.i.settled(p.second)
	p.finish()
}

// firstOf is an identity without the version or second that follows it.
func firstOf(identity string) string {
	first, _, _ := strings.Cut(identity, "@")
	return first
}

// warns tells whether a warning has the text.
func warns(diags []*tfprotov6.Diagnostic, text string) bool {
	return slices.ContainsFunc(diags, func(d *tfprotov6.Diagnostic) bool {
		return d.Severity == tfprotov6.DiagnosticSeverityWarning && strings.Contains(d.Detail, text)
	})
}

// goOn is what Terraform does next.
func (p *player) goOn(failed bool, now, target map[string]wire.Thing) {
	p.t.Helper()
	if p.op.to == nil {
		p.finish()
		return
	}
	if todo := differs(target, now); failed && p.op.from != nil && todo != "" {
		wantNoError(p.t, p.i.read())
		planned := p.i.planned(p.op.to)
		if diffs, err := p.i.state.Diff(planned.value); err != nil || len(diffs) == 0 {
			p.t.Errorf("the update failed, and the next plan is empty (%v), but this is still to do: %s", err, todo)
		}
	}
	wantNoError(p.t, p.i.apply(p.op.to))
	p.i.settled(p.op.to)
	now = p.look()
	p.theirs(now)
	if d := differs(target, now); d != "" {
		p.t.Errorf("the next apply does not make what an apply without a fault makes: %s", d)
	}
	p.finish()
}

// situation is all that the next run of Terraform depends on. Identities are named by the
// thing that has them: they differ from case to case.
func (p *player) situation(now map[string]wire.Thing, failed bool) string {
	p.t.Helper()
	private := map[string][]byte{}
	if len(p.i.private) > 0 {
		must(p.t, json.Unmarshal(p.i.private, &private))
	}
	text := fmt.Sprintln(failed, p.i.tainted, p.i.state)
	for _, key := range slices.Sorted(maps.Keys(private)) {
		text += fmt.Sprintln(key, string(private[key]))
	}
	text = secondOfCreation.ReplaceAllString(text, "@")
	for key, thing := range now {
		if id, _, _ := strings.Cut(thing.Identity, "@"); id != "" {
			text = strings.ReplaceAll(text, id, key)
		}
	}
	text = uids.ReplaceAllString(text, "of what is gone")
	for _, key := range slices.Sorted(maps.Keys(now)) {
		text += fmt.Sprintln(key, now[key].Content)
		if _, theirs := p.initial[key]; theirs {
			text += now[key].Identity
		}
	}
	return text
}

// uids are those of Kubernetes. They differ from case to case.
var uids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// secondOfCreation ends the identity of a queue.
var secondOfCreation = regexp.MustCompile(`@[0-9]+`)

// sameState fails if the state has changed, though nothing has changed that it is about.
func (p *player) sameState(before tftypes.Value) {
	p.t.Helper()
	if diffs, err := before.Diff(p.i.state); err != nil || len(diffs) > 0 {
		p.t.Errorf("the state has changed: %v %v", diffs, err)
	}
}

// theirs fails if something of somebody else has changed.
func (p *player) theirs(now map[string]wire.Thing) {
	p.t.Helper()
	now = maps.Clone(now)
	maps.DeleteFunc(now, func(key string, _ wire.Thing) bool { _, theirs := p.initial[key]; return !theirs })
	if d := cmp.Diff(p.initial, now); d != "" {
		p.t.Errorf("what somebody else made has changed: %s", d)
	}
}

// differs compares what the services hold with what they held after the operation without
// a fault. Identities differ.
func differs(target, now map[string]wire.Thing) string {
	content := func(all map[string]wire.Thing) map[string]string {
		out := map[string]string{}
		for key, thing := range all {
			out[key] = thing.Content
		}
		return out
	}
	return cmp.Diff(content(target), content(now))
}

// explained fails unless each error names the object, says what failed, and has a remedy.
func (p *player) explained(diags []*tfprotov6.Diagnostic, call string, f fault) {
	p.t.Helper()
	for _, d := range diags {
		if d.Severity != tfprotov6.DiagnosticSeverityError {
			continue
		}
		what, remedy, _ := strings.Cut(d.Detail, "\n\n")
		named := func(id string) bool { return strings.Contains(what, fmt.Sprintf("%s %q: ", p.s.kind, id)) }
		if !named(p.s.id) && !named(p.s.newID) {
			p.t.Errorf("the error does not name %s %q: %s", p.s.kind, p.s.id, d.Detail)
		}
		if f == denied && !strings.Contains(what, p.s.denial(call)) {
			p.t.Errorf("the error does not say %q: %s", p.s.denial(call), d.Detail)
		}
		if remedy == "" {
			p.t.Errorf("the error has no remedy: %s", d.Detail)
		}
	}
}
