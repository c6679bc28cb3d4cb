package sqssim

import (
	"fmt"
	"maps"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

type content struct {
	Attributes map[string]string `json:"attributes"`
	Tags       map[string]string `json:"tags"`
}

// Holdings are the queues by name, without their messages.
func (s *Service) Holdings() wire.Holdings {
	return wire.Holdings{Lock: &s.mu, Kinds: []wire.Kind{wire.Map[queue, content]{
		Prefix: "sqs queue/", Of: &s.queues, Identity: func(q *queue) string { return q.created.Format(time.RFC3339Nano) },
		Content: func(q *queue) content { return content{wire.Given(q.attributes), wire.Given(q.tags)} },
		Set:     (*queue).overwrite, Copy: (*queue).copy, Removed: func(_ string, q *queue) { q.end() },
	}}}
}

func (q *queue) overwrite(in content) error {
	if err := checkAttributes(in.Attributes); err != nil {
		return err
	}
	for name := range q.attributes {
		_, stays := in.Attributes[name]
		if !stays && name != "Policy" && name != "KmsMasterKeyId" {
			return fmt.Errorf("a queue always has %s", name)
		}
	}
	if err := checkEncryption(in.Attributes); err != nil {
		return err
	}
	q.attributes, q.tags = in.Attributes, in.Tags
	return nil
}

func (q *queue) copy() *queue {
	c := *q
	c.changed = make(chan struct{}) // the end of one queue closes its channel
	c.attributes, c.tags = maps.Clone(q.attributes), maps.Clone(q.tags)
	return &c
}
