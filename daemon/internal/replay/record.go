package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
)

const (
	// Most is how many bytes a record has at most: it is in a ConfigMap of at most a MiB, beside
	// what market keeps there.
	Most = 112 << 10
	// unpacked bounds what is read: 50,000 pods and 2,000 nodes take some 40 MiB.
	unpacked = 256 << 20
	// saysMost bounds the text of the panic, and stackMost its stack, in bytes.
	saysMost, stackMost = 1 << 10, 16 << 10
	// stepsMost is how many decisions Replay makes at most, each with the memory of the one
	// before: a search of the fleet takes several.
	stepsMost = 64
)

// errTooLarge says that a record would not fit into its place.
var errTooLarge = errors.New("it is too large")

// Record is a decision that panicked.
type Record struct {
	Version string // of the daemon
	At      time.Time
	Says    string // the panic
	Stack   string
	// Replays says whether the decision panicked again at the same place when the record was
	// read back: what panics only with the engine's caches does not.
	Replays bool

	Objects   cluster.Objects
	Memory    engine.Memory // without caches and searches
	Policy    engine.Policy
	Now       time.Time
	Seed      uint64
	Polish    int
	WorkLimit int
}

// newRecord makes the record of the decision.
func newRecord(version string, in engine.Input, fault *FaultError) Record {
	return Record{
		Version: version, At: in.Now, Says: cut(fault.Says, saysMost), Stack: cut(fault.Stack, stackMost),
		Objects: in.Snapshot.Objects(), Memory: in.Memory, Policy: in.Policy, Now: in.Now, Seed: in.Seed, Polish: in.Polish, WorkLimit: in.WorkLimit,
	}
}

func cut(text string, most int) string { return text[:min(len(text), most)] }

// Input is what the decision was made of.
func (r Record) Input() (engine.Input, error) {
	snapshot, err := cluster.New(r.Objects)
	if err != nil {
		return engine.Input{}, fmt.Errorf("record read: %w", err)
	}
	return engine.Input{Snapshot: snapshot, Memory: r.Memory, Policy: r.Policy, Now: r.Now, Seed: r.Seed, Polish: r.Polish, WorkLimit: r.WorkLimit}, nil
}

// Replay makes the decision again, and those that follow from it while nothing changes; it
// returns the fault, or nil if none panics.
func Replay(decide Decide, in engine.Input) *FaultError {
	fault, _ := replay(context.Background(), decide, in, stepsMost)
	return fault
}

// replay makes so many decisions at most until the context ends, and says how many it made.
func replay(ctx context.Context, decide Decide, in engine.Input, most int) (*FaultError, int) {
	n := 0
	for ; n < most && ctx.Err() == nil; n++ {
		out, fault := Try(decide, in)
		if fault != nil {
			return fault, n + 1
		}
		in.Memory = out.Memory
	}
	return nil, n
}

// Pack writes the record, compressed.
func Pack(r Record) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := gob.NewEncoder(w).Encode(r); err != nil {
		return nil, fmt.Errorf("record write: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("record write: %w", err)
	}
	return out.Bytes(), nil
}

// Unpack reads what Pack wrote.
func Unpack(packed []byte) (Record, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return Record{}, fmt.Errorf("record read: %w", err)
	}
	var out Record
	if err := gob.NewDecoder(io.LimitReader(r, unpacked)).Decode(&out); err != nil {
		return Record{}, fmt.Errorf("record read: %w", err)
	}
	return out, nil
}
