package bench

import (
	"fmt"

	"github.com/karpenterd/terraform-provider-karpenter/internal/cluster"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine"
)

// Base is a Setting that an engine already knows: its index without any pod,
// and what a first Step on it has remembered.
type Base struct {
	Setting  Setting
	objects  cluster.Objects
	snapshot cluster.Snapshot
	memory   engine.Memory
}

// Warm makes the Base of a Setting.
func Warm(s Setting) (Base, error) {
	objects, err := s.Objects()
	if err != nil {
		return Base{}, err
	}
	snapshot, err := cluster.New(objects)
	if err != nil {
		return Base{}, fmt.Errorf("setting index: %w", err)
	}
	out := engine.Step(engine.Input{Snapshot: snapshot, Policy: Policy(), Now: Began()})
	return Base{Setting: s, objects: objects, snapshot: snapshot, memory: out.Memory}, nil
}

// Input is the Step that finds all these pods pending.
func (b Base) Input(seed uint64, pods []cluster.Pod) (engine.Input, error) {
	snapshot, err := b.snapshot.Apply(cluster.Delta{Put: cluster.Objects{Pods: pods}})
	if err != nil {
		return engine.Input{}, fmt.Errorf("demand index: %w", err)
	}
	return engine.Input{Snapshot: snapshot, Memory: b.memory, Policy: Policy(), Now: Began(), Seed: seed}, nil
}

// Prepare makes the Step of the case for a seed, and its pods.
func (c Case) Prepare(b Base, seed uint64) (engine.Input, []cluster.Pod, error) {
	pods, err := c.Pods(seed)
	if err != nil {
		return engine.Input{}, nil, err
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
