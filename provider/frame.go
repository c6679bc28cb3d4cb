package provider

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
)

// A kind of resource says what it does with its object in AWS or in the cluster: its
// life. The frame does the rest, in one way for all kinds: it reads plan and state,
// bounds the operation, keeps the record of what was made, undoes a create that has
// failed, saves and reports.

// model is the configuration or the state of one object.
type model interface {
	identified
	limits() timeouts.Value
}

// life is what a kind does with its object. C is what it calls: AWS's clients or a
// cluster. Each method notes in the job's record what it has made and what is gone,
// also when it fails.
type life[M model, C any] interface {
	// create makes the object, and fills in what the plan left unknown.
	create(ctx context.Context, j job[C], plan *M) error
	// read sets the state to what is there. It returns false if nothing is left that
	// the resource made.
	read(ctx context.Context, j job[C], state *M) (bool, error)
	// update changes the object as planned. It makes what is gone.
	update(ctx context.Context, j job[C], plan *M, prior M) error
	// remove deletes what was made, and nothing else.
	remove(ctx context.Context, j job[C], state M) error
}

// job is what a life gets for one operation.
type job[C any] struct {
	client   C
	own      made
	recorded bool // false in a read without a record, which then notes what it finds
	diags    *diag.Diagnostics
	claims   *claims // what the resources of this run have; nil where nothing is destroyed
}

// spare drops from the record what another resource of this run has taken up by now. A
// destruction calls it after each wait: meanwhile, a resource with another name in the
// configuration may have been created from what there is.
func (j job[C]) spare() {
	if j.claims != nil {
		j.claims.spare(j.own, j.diags)
	}
}

// waits is a life whose objects are not ready at once.
type waits[M any, C any] interface {
	// awaitReady returns when the object is ready.
	awaitReady(ctx context.Context, client C, m M) error
}

// ready is a model with the attributes wait and ready.
type ready interface{ readiness() *readyModel }

// undoes is a life that takes back a failed creation otherwise than it removes an object.
type undoes[M any, C any] interface {
	takeBack(ctx context.Context, j job[C], plan M) error
}

// outlives is a life of whose object something may be left in AWS when the cluster no
// longer exists.
type outlives[M any] interface {
	// outlived is an error that names what is left, or why that is not known.
	outlived(ctx context.Context, m M) error
}

// frame is a resource of the kind that its life describes.
type frame[M model, C any] struct {
	base
	life life[M, C]
	open func(ctx context.Context, b *base, own made) (C, error) // gives what the life calls
	late func(client C) C                                        // gives a client for what was made a moment ago
	time times
}

// onAWS is a frame for a kind whose object is in AWS.
func onAWS[M model](b base, t times, l life[M, *aws.Clients]) frame[M, *aws.Clients] {
	return newFrame(b, t, l, func(ctx context.Context, b *base, _ made) (*aws.Clients, error) { return b.session.AWS(ctx) }, (*aws.Clients).JustMade)
}

// times bound the operations, unless the attribute timeouts says otherwise.
type times struct{ create, update, delete time.Duration }

// limitsModel is embedded by every model.
type limitsModel struct {
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

func (m limitsModel) limits() timeouts.Value { return m.Timeouts }

func (f *frame[M, C]) timeoutsAttribute(ctx context.Context) schema.Attribute {
	return timeoutsAttribute(ctx, f.time)
}

// Create makes the object. If that fails, it removes what it has made, so that no
// state is left: Terraform would replace an object whose creation failed. What it has taken
// up stays; see taken_up.go.
func (f *frame[M, C]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	plan, ok := get[M](ctx, req.Plan, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.limits().Create, f.time.create)
	defer cancel()
	j := job[C]{own: made{}, recorded: true, diags: &resp.Diagnostics}
	client, err := f.open(ctx, &f.base, j.own)
	if err == nil {
		j.client = client
		err = f.life.create(ctx, j, &plan)
	}
	if err == nil {
		err = f.session.claims.claim(j.own)
	}
	if len(j.own) > 0 {
		f.session.reads.forget(f.kind, importID(plan))
	}
	out := outcome{&resp.State, resp.Identity, resp.Private, &resp.Diagnostics}
	if err != nil {
		f.fail(&resp.Diagnostics, verbCreate, plan, err)
		if j.own.leaveTakenUp(&resp.Diagnostics) || errors.Is(err, ErrTwice) {
			return
		}
		f.undo(ctx, &resp.Diagnostics, plan, j.own, func(ctx context.Context) error {
			j.client = f.late(client)
			return f.undoCreate(ctx, j, plan)
		}, func() {
			f.begin(&plan)
			j.own[madeHalf] = "true"
			f.keep(ctx, out, j.own, plan)
		})
		return
	}
	f.settle(ctx, out, j, plan, verbCreate)
}

func (f *frame[M, C]) undoCreate(ctx context.Context, j job[C], plan M) error {
	if life, has := f.life.(undoes[M, C]); has {
		return life.takeBack(ctx, j, plan)
	}
	return f.life.remove(ctx, j, plan)
}

// Read refreshes the state. An object that is gone, or in whose place somebody else's
// is, leaves the state.
func (f *frame[M, C]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	state, ok := get[M](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	own, recorded := readMade(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	client, err := f.open(ctx, &f.base, own)
	if err != nil {
		f.unread(ctx, resp, state, f.afterCluster(ctx, state, err))
		return
	}
	half, isHalf := own[madeHalf]
	own.forgetMarks()
	there, err := f.life.read(ctx, job[C]{client: client, own: own, recorded: recorded, diags: &resp.Diagnostics}, &state)
	if isHalf && there {
		own[madeHalf] = half
	}
	switch {
	case err != nil:
		f.fail(&resp.Diagnostics, verbRead, state, err)
	case !there:
		f.forget(ctx, resp, state)
	default:
		f.keep(ctx, outcome{&resp.State, resp.Identity, resp.Private, &resp.Diagnostics}, own, state)
		if recorded {
			f.session.reads.remember(f.kind, importID(state), whole(ctx, resp.State), own)
		}
	}
}

// Update changes the object. If that fails, the state stays as it was, and the record
// has what was made by then.
func (f *frame[M, C]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	plan, prior, ok := planAndState[M](ctx, req, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, plan.limits().Update, f.time.update)
	defer cancel()
	j, err := f.mine(ctx, req.Private, &resp.Diagnostics)
	if err == nil {
		err = f.life.update(ctx, j, &plan, prior)
		j.own.write(ctx, resp.Private, &resp.Diagnostics)
	}
	if err != nil {
		f.fail(&resp.Diagnostics, verbUpdate, plan, err)
		return
	}
	f.settle(ctx, outcome{&resp.State, resp.Identity, resp.Private, &resp.Diagnostics}, j, plan, verbUpdate)
}

// Delete removes what was made. If that fails, the state and the record stay.
func (f *frame[M, C]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	state, ok := get[M](ctx, req.State, &resp.Diagnostics)
	if !ok {
		return
	}
	ctx, cancel := bounded(ctx, &resp.Diagnostics, state.limits().Delete, f.time.delete)
	defer cancel()
	j, err := f.mine(ctx, f.session.reads.behind(req.Private, f.kind, importID(state), whole(ctx, req.State)), &resp.Diagnostics)
	if err == nil {
		j.claims = &f.session.claims
		j.spare()
		err = f.life.remove(ctx, j, state)
	} else {
		err = f.afterCluster(ctx, state, err)
	}
	if err != nil {
		f.fail(&resp.Diagnostics, verbDelete, state, err)
	}
}

// afterCluster is the error why there is no cluster. If the cluster no longer exists, it is
// what is left in AWS: the state keeps the object until nothing is.
func (f *frame[M, C]) afterCluster(ctx context.Context, m M, err error) error {
	life, has := f.life.(outlives[M])
	if !has || !errors.Is(err, ErrOldCluster) || !errors.Is(err, aws.ErrNotFound) {
		return err
	}
	if left := life.outlived(ctx, m); left != nil {
		return left
	}
	return err
}

// mine gives what an update or a delete needs. Without a record of what was made,
// nothing may be changed: ErrUnproven.
func (f *frame[M, C]) mine(ctx context.Context, private privateReader, diags *diag.Diagnostics) (job[C], error) {
	own, recorded := readMade(ctx, private, diags)
	j := job[C]{own: own, recorded: recorded, diags: diags}
	if !recorded {
		return j, ErrUnproven
	}
	var err error
	j.client, err = f.open(ctx, &f.base, own)
	return j, err
}

// outcome is where an operation writes what it leaves.
type outcome struct {
	state    *tfsdk.State
	identity *tfsdk.ResourceIdentity
	private  privateWriter
	diags    *diag.Diagnostics
}

// keep saves the record and the model.
func (f *frame[M, C]) keep(ctx context.Context, out outcome, own made, m M) {
	own.write(ctx, out.private, out.diags)
	f.save(ctx, out.state, out.identity, out.diags, m)
}

// settle saves what was declared, then waits until the object is ready, and saves
// again. What ends the wait early is no failure of a creation.
func (f *frame[M, C]) settle(ctx context.Context, out outcome, j job[C], m M, verb string) {
	waiting := f.begin(&m)
	j.own.forgetMarks()
	f.keep(ctx, out, j.own, m)
	life, has := f.life.(waits[M, C])
	if !waiting || !has {
		return
	}
	if err := life.awaitReady(ctx, j.client, m); err != nil {
		f.notReady(out.diags, verb, m, err)
		return
	}
	any(&m).(ready).readiness().Ready = types.BoolValue(true)
	f.keep(ctx, out, j.own, m)
}

// begin sets the attribute ready, where there is one, to what it is until the object
// is ready. It tells whether the wait is asked for.
func (f *frame[M, C]) begin(m *M) bool {
	with, has := any(m).(ready)
	return has && with.readiness().begin()
}

// newFrame is a frame for a kind whose life calls what open gives. late gives a client for what
// was made a moment ago.
func newFrame[M model, C any](b base, t times, l life[M, C], open func(ctx context.Context, b *base, own made) (C, error), late func(client C) C) frame[M, C] {
	return frame[M, C]{base: b, life: l, open: open, late: late, time: t}
}
