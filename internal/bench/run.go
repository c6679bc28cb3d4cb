package bench

import (
	"errors"
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
	"github.com/karpenterd/terraform-provider-karpenter/internal/label"
	"github.com/karpenterd/terraform-provider-karpenter/internal/proof"
)

// errUnproven is a plan without a certificate.
var errUnproven = errors.New("the plan launches and proves no bound")

// Base is a Setting that an engine already knows: its index without any pod,
// and what a first Step on it has remembered.
type Base struct {
	Setting  Setting
	objects  cluster.Objects
	snapshot cluster.Snapshot
	memory   engine.Memory
}

// Index makes the Base of a Setting without what a Step remembers.
func Index(s Setting) (Base, error) {
	objects, err := s.Objects()
	if err != nil {
		return Base{}, err
	}
	snapshot, err := cluster.New(objects)
	if err != nil {
		return Base{}, fmt.Errorf("setting index: %w", err)
	}
	return Base{Setting: s, objects: objects, snapshot: snapshot}, nil
}

// Warm makes the Base of a Setting.
func Warm(s Setting) (Base, error) {
	base, err := Index(s)
	return base.warmed(), err
}

// warmed remembers what a Step without demand finds out.
func (b Base) warmed() Base {
	b.memory = engine.Step(engine.Input{Snapshot: b.snapshot, Policy: b.Setting.Policy(), Now: Began()}).Memory
	return b
}

// Input is the Step that finds all these pods pending.
func (b Base) Input(seed uint64, pods []cluster.Pod) (engine.Input, error) {
	snapshot, err := b.snapshot.Apply(cluster.Delta{Put: cluster.Objects{Pods: pods}})
	if err != nil {
		return engine.Input{}, fmt.Errorf("demand index: %w", err)
	}
	return engine.Input{Snapshot: snapshot, Memory: b.memory, Policy: b.Setting.Policy(), Now: Began(), Seed: seed}, nil
}

// Prepare makes the Step of the case for a seed, and its pods.
func (c Case) Prepare(b Base, seed uint64) (engine.Input, []cluster.Pod, error) {
	pods, err := c.Pods(seed)
	if err != nil {
		return engine.Input{}, nil, err
	}
	if c.Limit > 0 {
		if b, err = b.limited(pods, c.Limit); err != nil {
			return engine.Input{}, nil, err
		}
	}
	in, err := b.Input(seed, pods)
	return in, pods, err
}

// Base warms the setting of the case.
func (c Case) Base() (Base, error) {
	s, err := c.Setting()
	if err != nil {
		return Base{}, err
	}
	return Warm(s)
}

// Prove checks every certificate of the Step's plan against its raw objects. A plan
// that launches must have one.
func Prove(in engine.Input, out engine.Output) error {
	if len(out.Plan.Proofs) == 0 && len(Fleet(out.Plan)) > 0 {
		return errUnproven
	}
	key := func(namespace string, labels label.Labels, shape cluster.Shape) string {
		return in.Snapshot.GroupFor(namespace, labels, shape).Key
	}
	objects := in.Snapshot.Objects()
	for i, c := range out.Plan.Proofs {
		if err := proof.Check(objects, c, key); err != nil {
			return fmt.Errorf("certificate %d check: %w", i, err)
		}
	}
	return nil
}
