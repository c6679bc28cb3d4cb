package replay

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
)

const (
	// every is how far records are apart at least: the first of a row of faults stays long enough
	// to be fetched, and the work for it takes little.
	every = time.Hour
	// smallerWithin bounds how long it is tried whether a record fails again, and made smaller;
	// the decision that is being made then comes to its end.
	smallerWithin = 20 * time.Second
)

// Keeper keeps a record of a decision that panicked. Its zero value lacks Write, Where and Logger.
type Keeper struct {
	Version string // of the daemon
	Decide  Decide // nil: engine.Step
	// Write puts the record where users find it, which Where says.
	Write func(ctx context.Context, packed []byte) error
	// Read returns what Write wrote last, also that of an earlier daemon; nothing if there is none.
	// nil: nobody knows.
	Read   func(ctx context.Context) ([]byte, error)
	Where  string
	Logger hclog.Logger

	last   time.Time // when the last was begun
	making sync.WaitGroup
}

// Panicked keeps a record of the decision, unless there is one of the last hour, by whichever
// daemon. It does not wait for that, and a panic in it ends nothing. It is for one goroutine.
func (k *Keeper) Panicked(ctx context.Context, in engine.Input, fault *FaultError) {
	if since := time.Since(k.last); !k.last.IsZero() && since < every {
		return
	}
	k.last = time.Now()
	k.making.Go(func() {
		defer func() {
			if says := recover(); says != nil {
				k.Logger.Error("the input of the decision that failed could not be kept, by a fault of the daemon", "panic", fmt.Sprint(says), "stack", string(debug.Stack()))
			}
		}()
		if at, young := k.young(ctx); young {
			k.Logger.Info("the input of the decision that failed is not kept: there is one of the last hour", "where", k.Where, "at", at)
			return
		}
		r, packed, err := k.make(ctx, in, fault)
		if err == nil {
			err = k.Write(ctx, packed)
		}
		if err != nil {
			k.Logger.Warn("the input of the decision that failed could not be kept", "error", err)
			return
		}
		k.Logger.Error("the input of the decision that failed is kept: please add it to the report; it has names, labels and requests of objects, and no environment, Secret or annotation",
			"where", k.Where, "bytes", len(packed), "fails_again", r.Replays)
	})
}

// young says whether an earlier daemon has kept a record within the hour. One that cannot be read
// protects nothing.
func (k *Keeper) young(ctx context.Context) (time.Time, bool) {
	if k.Read == nil {
		return time.Time{}, false
	}
	packed, err := k.Read(ctx)
	if err != nil || len(packed) == 0 {
		return time.Time{}, false
	}
	r, err := Unpack(packed)
	since := time.Since(r.At)
	return r.At, err == nil && since >= 0 && since < every
}

// Wait waits for the record that is in the making.
func (k *Keeper) Wait() { k.making.Wait() }

// make makes the record from its own copy of the input: the loop goes on with the input.
func (k *Keeper) make(ctx context.Context, in engine.Input, fault *FaultError) (Record, []byte, error) {
	decide := k.Decide
	if decide == nil {
		decide = engine.Step
	}
	packed, err := Pack(newRecord(k.Version, in, fault))
	if err != nil {
		return Record{}, nil, err
	}
	r, err := Unpack(packed)
	if err != nil {
		return Record{}, nil, err
	}
	searching, cancel := context.WithTimeout(ctx, smallerWithin)
	defer cancel()
	steps := stepsMost
	fails := func(o cluster.Objects) bool {
		less := r
		less.Objects = o
		in, err := less.Input()
		if err != nil {
			return false
		}
		again, n := replay(searching, decide, in, steps)
		failed := again != nil && again.At() == fault.At()
		if failed {
			steps = n
		}
		return failed
	}
	if r.Replays = fails(r.Objects); r.Replays {
		r.Objects = smaller(searching, r.Objects, fails)
	}
	packed, err = Pack(r)
	if err == nil && len(packed) > Most {
		err = fmt.Errorf("record of %d bytes: %w", len(packed), errTooLarge)
	}
	return r, packed, err
}
