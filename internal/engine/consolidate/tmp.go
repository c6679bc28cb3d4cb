package consolidate

import "github.com/karpenterd/terraform-provider-karpenter/internal/quantity"

func (s *Search) Tmp() (gone, fresh int, cost quantity.Money, trials int) {
	for i := range s.nodes {
		n := &s.nodes[i]
		if n.gone {
			if n.Node != nil {
				gone++
			}
			continue
		}
		cost += n.price
		if n.Node == nil {
			fresh++
		}
	}
	return gone, fresh, cost, s.done
}
