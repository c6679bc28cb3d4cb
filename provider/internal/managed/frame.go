package managed

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/karpenterd/terraform-provider-karpenter/internal/aws"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/failure"
	"github.com/karpenterd/terraform-provider-karpenter/provider/internal/ownership"
)

// A kind of resource says what it does with its object in AWS or in the cluster: its
// life. The frame does the rest, in one way for all kinds: it reads plan and state,
// bounds the operation, keeps the record of what was made, undoes a create that has
// failed, saves and reports.

// Model is the configuration or the state of one object.
type Model interface {
	Identified
	TimeLimits() timeouts.Value
}

// Life is what a kind does with its object. C is what it calls: AWS's clients or a
// cluster. Each method notes in the job's record what it has made and what is gone,
// also when it fails.
type Life[M Model, C any] interface {
	// Make makes the object, and fills in what the plan left unknown.
	Make(ctx context.Context, j Job[C], plan *M) error
	// Observe sets the state to what is there. It returns false if nothing is left that
	// the resource made.
	Observe(ctx context.Context, j Job[C], state *M) (bool, error)
	// Change changes the object as planned. It makes what is gone.
	Change(ctx context.Context, j Job[C], plan *M, prior M) error
	// Remove deletes what was made, and nothing else.
	Remove(ctx context.Context, j Job[C], state M) error
}

// Job is what a life gets for one operation.
type Job[C any] struct {
	Client   C
	Own      ownership.Record
	Recorded bool // false in a read without a record, which then notes what it finds
	Diags    *diag.Diagnostics
	claims   *ownership.Claims // what the resources of this run have; nil where nothing is destroyed
}

// Spare drops from the record what another resource of this run has taken up by now. A
// destruction calls it after each wait: meanwhile, a resource with another name in the
// configuration may have been created from what there is.
func (j Job[C]) Spare() {
	if j.claims != nil {
		j.claims.Spare(j.Own, j.Diags)
	}
}

// waits is a life whose objects are not ready at once.
type waits[M any, C any] interface {
	// AwaitReady returns when the object is ready.
	AwaitReady(ctx context.Context, client C, m M) error
}

// ready is a model with the attributes wait and ready.
type ready interface{ Readiness() *ReadyModel }

// undoes is a life that takes back a failed creation otherwise than it removes an object.
type undoes[M any, C any] interface {
	TakeBack(ctx context.Context, j Job[C], plan M) error
}

// outlives is a life of whose object something may be left in AWS when the cluster no
// longer exists.
type outlives[M any] interface {
	// Outlived is an error that names what is left, or why that is not known.
	Outlived(ctx context.Context, m M) error
}

// Frame is a resource of the kind that its life describes.
type Frame[M Model, C any] struct {
	Base
	life Life[M, C]
	open func(ctx context.Context, b *Base, own ownership.Record) (C, error) // gives what the life calls
	late func(client C) C                                                    // gives a client for what was made a moment ago
	time Times
}

// OnAWS is a frame for a kind whose object is in AWS.
func OnAWS[M Model](b Base, t Times, l Life[M, *aws.Clients]) Frame[M, *aws.Clients] {
	return New(b, t, l, func(ctx context.Context, b *Base, _ ownership.Record) (*aws.Clients, error) {
		return b.Session.AWS(ctx)
	}, (*aws.Clients).JustMade)
}

// Times bound the operations, unless the attribute timeouts says otherwise.
type Times struct{ Create, Update, Delete time.Duration }

// LimitsModel is embedded by every model.
type LimitsModel struct {
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// TimeLimits are the bounds of the operations.
func (m LimitsModel) TimeLimits() timeouts.Value { return m.Timeouts }

// TimeoutsAttribute lets a user bound the operations.
func (f *Frame[M, C]) TimeoutsAttribute(ctx context.Context) schema.Attribute {
	return timeoutsAttribute(ctx, f.time)
}

// Create makes the object. If that fails, it removes what it has made, so that no
// state is left: Terraform would replace an object whose creation failed. What it has taken
// up stays; see package ownership.
func (f *Frame[M, C]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := Get[M](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := Bounded(ctx, &resp.Diagnostics, plan.TimeLimits().Create, f.time.Create)
	defer cancel()
	j := Job[C]{Own: ownership.Record{}, Recorded: true, Diags: &resp.Diagnostics}
	client, err := f.open(ctx, &f.Base, j.Own)
	if err == nil {
		j.Client = client
		err = f.life.Make(ctx, j, &plan)
	}
	if err == nil {
		err = f.Session.Claims.Claim(j.Own)
	}
	if len(j.Own) > 0 {
		f.Session.Reads.Forget(f.Kind, ImportID(plan))
	}
	out := Outcome{&resp.State, resp.Identity, resp.Private, &resp.Diagnostics}
	if err != nil {
		f.Fail(&resp.Diagnostics, verbCreate, plan, err)
		if j.Own.LeaveTakenUp(&resp.Diagnostics) || errors.Is(err, failure.ErrTwice) {
			return
		}
		f.undo(ctx, &resp.Diagnostics, plan, j.Own, func(ctx context.Context) error {
			j.Client = f.late(client)
			return f.undoCreate(ctx, j, plan)
		}, func() {
			f.begin(&plan)
			j.Own[ownership.KeyHalfMade] = "true"
			f.keep(ctx, out, j.Own, plan)
		})
		return
	}
	f.Settle(ctx, out, j, plan, verbCreate)
}

func (f *Frame[M, C]) undoCreate(ctx context.Context, j Job[C], plan M) error {
	if life, has := f.life.(undoes[M, C]); has {
		return life.TakeBack(ctx, j, plan)
	}
	return f.life.Remove(ctx, j, plan)
}

// Read refreshes the state. An object that is gone, or in whose place somebody else's
// is, leaves the state.
func (f *Frame[M, C]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := Get[M](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	own, recorded := ownership.Read(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	client, err := f.open(ctx, &f.Base, own)
	if err != nil {
		f.unread(ctx, resp, state, f.afterCluster(ctx, state, err))
		return
	}
	half, isHalf := own[ownership.KeyHalfMade]
	own.ForgetMarks()
	there, err := f.life.Observe(ctx, Job[C]{Client: client, Own: own, Recorded: recorded, Diags: &resp.Diagnostics}, &state)
	if isHalf && there {
		own[ownership.KeyHalfMade] = half
	}
	switch {
	case err != nil:
		f.Fail(&resp.Diagnostics, VerbRead, state, err)
	case !there:
		f.forget(ctx, resp, state)
	default:
		f.keep(ctx, Outcome{&resp.State, resp.Identity, resp.Private, &resp.Diagnostics}, own, state)
		if recorded {
			f.Session.Reads.Remember(f.Kind, ImportID(state), ownership.Whole(ctx, resp.State), own)
		}
	}
}

// Update changes the object. If that fails, the state stays as it was, and the record
// has what was made by then.
func (f *Frame[M, C]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, prior, ok := PlanAndState[M](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := Bounded(ctx, &resp.Diagnostics, plan.TimeLimits().Update, f.time.Update)
	defer cancel()
	j, err := f.Mine(ctx, req.Private, &resp.Diagnostics)
	if err == nil {
		err = f.life.Change(ctx, j, &plan, prior)
		j.Own.Write(ctx, resp.Private, &resp.Diagnostics)
	}
	if err != nil {
		f.Fail(&resp.Diagnostics, VerbUpdate, plan, err)
		return
	}
	f.Settle(ctx, Outcome{&resp.State, resp.Identity, resp.Private, &resp.Diagnostics}, j, plan, VerbUpdate)
}

// Delete removes what was made. If that fails, the state and the record stay.
func (f *Frame[M, C]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := Get[M](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := Bounded(ctx, &resp.Diagnostics, state.TimeLimits().Delete, f.time.Delete)
	defer cancel()
	j, err := f.Mine(ctx, f.Session.Reads.Behind(req.Private, f.Kind, ImportID(state), ownership.Whole(ctx, req.State)), &resp.Diagnostics)
	if err == nil {
		j.claims = &f.Session.Claims
		j.Spare()
		err = f.life.Remove(ctx, j, state)
	} else {
		err = f.afterCluster(ctx, state, err)
	}
	if err != nil {
		f.Fail(&resp.Diagnostics, verbDelete, state, err)
	}
}

// afterCluster is the error why there is no cluster. If the cluster no longer exists, it is
// what is left in AWS: the state keeps the object until nothing is.
func (f *Frame[M, C]) afterCluster(ctx context.Context, m M, err error) error {
	life, has := f.life.(outlives[M])
	if !has || !errors.Is(err, failure.ErrOldCluster) || !errors.Is(err, aws.ErrNotFound) {
		return err
	}
	if left := life.Outlived(ctx, m); left != nil {
		return left
	}
	return err
}

// Mine gives what an update or a delete needs. Without a record of what was made,
// nothing may be changed: ErrUnproven.
func (f *Frame[M, C]) Mine(ctx context.Context, private ownership.Reader, diags *diag.Diagnostics) (Job[C], error) {
	own, recorded := ownership.Read(ctx, private, diags)
	j := Job[C]{Own: own, Recorded: recorded, Diags: diags}
	if !recorded {
		return j, failure.ErrUnproven
	}
	var err error
	j.Client, err = f.open(ctx, &f.Base, own)
	return j, err
}

// Outcome is where an operation writes what it leaves.
type Outcome struct {
	State    *tfsdk.State
	Identity *tfsdk.ResourceIdentity
	Private  ownership.Writer
	Diags    *diag.Diagnostics
}

// keep saves the record and the model.
func (f *Frame[M, C]) keep(ctx context.Context, out Outcome, own ownership.Record, m M) {
	own.Write(ctx, out.Private, out.Diags)
	f.Save(ctx, out.State, out.Identity, out.Diags, m)
}

// Settle saves what was declared, then waits until the object is ready, and saves
// again. What ends the wait early is no failure of a creation.
func (f *Frame[M, C]) Settle(ctx context.Context, out Outcome, j Job[C], m M, verb string) {
	waiting := f.begin(&m)
	j.Own.ForgetMarks()
	f.keep(ctx, out, j.Own, m)
	life, has := f.life.(waits[M, C])
	if !waiting || !has {
		return
	}
	if err := life.AwaitReady(ctx, j.Client, m); err != nil {
		f.notReady(out.Diags, verb, m, err)
		return
	}
	any(&m).(ready).Readiness().Ready = types.BoolValue(true)
	f.keep(ctx, out, j.Own, m)
}

// begin sets the attribute ready, where there is one, to what it is until the object
// is ready. It tells whether the wait is asked for.
func (f *Frame[M, C]) begin(m *M) bool {
	with, has := any(m).(ready)
	return has && with.Readiness().Begin()
}

// New is a frame for a kind whose life calls what open gives. late gives a client for what
// was made a moment ago.
func New[M Model, C any](b Base, t Times, l Life[M, C], open func(ctx context.Context, b *Base, own ownership.Record) (C, error), late func(client C) C) Frame[M, C] {
	return Frame[M, C]{Base: b, life: l, open: open, late: late, time: t}
}
