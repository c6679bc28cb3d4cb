package engine

import (
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/explain"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/launch"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/offer"
	"github.com/karpenterd/terraform-provider-karpenter/internal/engine/room"
)

// derived is what follows from parts of the snapshot that seldom change. It is only
// kept so that it is not worked out in each Step: no plan depends on it. A Step adds to
// its own and leaves that of the Steps before as it is.
type derived struct {
	fleet    *offer.Fleet // what the supply can launch, compiled; nil where there is none
	moves    *offer.Fleet // the same for what runs, where nodes may be replaced; nil where there is none
	places   offer.Places
	room     room.Known
	refusals explain.Known
}

// derived is what the try leaves for those after it.
func (t *try) derived(l *launch.Launcher) derived {
	return derived{fleet: l.Market.Fleet, moves: t.known.moves, places: t.known.places.Kept(), room: t.known.room.Kept(), refusals: t.known.refusals.Kept()}
}
