package plan

// AtOnce is how many of a controller's replicas a drain that spares them evicts while their
// successors are not ready, where no PodDisruptionBudget selects them: a quarter, and at
// least one. The core foresees with it what the drain does.
func AtOnce(replicas int64) int64 { return max(1, replicas/4) }
