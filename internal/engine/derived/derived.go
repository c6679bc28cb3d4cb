package derived

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/explain"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/topology"
)

// Facts is what follows from parts of the snapshot that seldom change. It is only kept so
// that it is not worked out in each Step: no plan depends on it. A Step adds to its own and
// leaves that of the Steps before as it is.
type Facts struct {
	Fleet    *offer.Fleet // what the supply can launch, compiled; nil where there is none
	Moves    *offer.Fleet // the same for what runs, where nodes may be replaced; nil where there is none
	Places   offer.Places
	Rules    topology.Known
	Room     room.Known
	Refusals explain.Known
}
