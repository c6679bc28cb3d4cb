package iamsim

import (
	"context"
	"crypto/rand"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Config is what IAM needs to know of its surroundings.
type Config struct {
	Account string // twelve digits
	Now     func() time.Time
	// Needed says why a service still needs its service-linked role; "" where it does not.
	Needed func(service string) string
}

// Service is the simulated IAM of one account. Safe for concurrent use.
type Service struct {
	account string
	now     func() time.Time
	needed  func(service string) string // may be nil
	wire.Handlers

	mu        sync.Mutex
	users     map[string]*user      // by name
	keys      map[string]Credential // of users, by access key id
	sessions  map[string]*session   // by access key id
	roles     map[string]*role      // by name
	policies  map[string]*managed   // by ARN, those of AWS included
	profiles  map[string]*profile   // by name
	providers map[string]*provider
	deletions map[string]deletion  // of service-linked roles, by task id
	delay     func() time.Duration // drawn for each change; see SetPropagationDelay
	views     []view               // with a delay: what it sees, from when on
	allowed   map[use]bool
}

type user struct {
	name, arn, id string
	attached      []string // policy ARNs, sorted
}

type role struct {
	name, path, arn, id string
	description         string
	trustText           string
	trust               *policy.Document
	maxSession          int // seconds
	created             time.Time
	tags                map[string]string
	inline              map[string]inlinePolicy
	attached            []string // policy ARNs, sorted
	boundary            string   // policy ARN, or empty
}

type inlinePolicy struct {
	text string
	doc  *policy.Document
}

type managed struct {
	name, path, arn, id string
	description         string
	created, updated    time.Time
	tags                map[string]string
	versions            []policyVersion // in order of creation
	defaultVersion      string
	nextVersion         int
	aws                 bool // owned by AWS: read only
}

type policyVersion struct {
	id      string
	text    string
	doc     *policy.Document
	created time.Time
}

type profile struct {
	name, path, arn, id string
	role                string // name, or empty
	created             time.Time
	tags                map[string]string
}

// New makes the IAM of one account; it holds nothing but AWS's own policies.
func New(c Config) *Service {
	s := &Service{
		account: c.Account, now: c.Now, needed: c.Needed, deletions: map[string]deletion{}, allowed: map[use]bool{},
		users: map[string]*user{}, keys: map[string]Credential{}, sessions: map[string]*session{},
		roles: map[string]*role{}, policies: map[string]*managed{}, profiles: map[string]*profile{}, providers: map[string]*provider{},
	}
	for _, m := range awsManaged() {
		s.policies[m.arn] = m
	}
	s.Handlers = wire.Handlers{"GetOpenIDConnectProvider": s.getProvider}
	for _, group := range []wire.Handlers{s.roleActions(), s.rolePolicyActions(), s.policyActions(), s.profileActions()} {
		maps.Copy(s.Handlers, group)
	}
	return s
}

// Serve answers one IAM action.
func (s *Service) Serve(ctx context.Context, req *wire.Request) (any, error) {
	h, ok := s.Handlers[req.Action]
	if !ok {
		return nil, wire.Errorf("InvalidAction", "Could not find operation %s for version 2010-05-08", req.Action)
	}
	out, err := h(ctx, req)
	if err == nil && !strings.HasPrefix(req.Action, "Get") && !strings.HasPrefix(req.Action, "List") {
		s.publish()
	}
	return out, err
}

// allow asks for permission to do the request's own action on one resource.
func (s *Service) allow(ctx context.Context, req *wire.Request, arn string, tags map[string]string, conditions map[string][]string) error {
	return s.Authorize(ctx, req, wire.Access{
		Action: "iam:" + req.Action, Resources: []wire.Resource{{ARN: arn, Tags: tags}}, Conditions: conditions,
	})
}

// arn names a thing of this account, e.g. arn("role", "/", "Node").
func (s *Service) arn(kind, path, name string) string {
	return "arn:aws:iam::" + s.account + ":" + kind + path + name
}

// newID makes a unique id as IAM's: a prefix of four letters and 17 characters.
func newID(prefix string) string { return prefix + rand.Text()[:17] }
