package ekssim

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const policyPrefix = "arn:aws:eks::aws:cluster-access-policy/"

// ClusterAdminPolicy is the ARN of the access policy of administrators.
const ClusterAdminPolicy = policyPrefix + "AmazonEKSClusterAdminPolicy"

// policyNames are the access policies that an entry can have, sorted.
func policyNames() []string {
	return []string{"AmazonEKSAdminPolicy", "AmazonEKSAdminViewPolicy", "AmazonEKSClusterAdminPolicy", "AmazonEKSEditPolicy", "AmazonEKSViewPolicy"}
}

// entry is one access entry; the service's mutex guards it.
type entry struct {
	principal   string
	principalID string // unique id of the principal when the entry was made
	arn         string
	kind        string
	username    string // may hold {{SessionName}} or {{EC2PrivateDNSName}}
	groups      []string
	tags        map[string]string
	token       string // clientRequestToken of the creation
	created     time.Time
	modified    time.Time
	policies    []string // ARNs of access policies over the whole cluster, sorted
	unseen      int      // see DelayAccessEntry
}

type entryOut struct {
	ClusterName      string            `json:"clusterName"`
	PrincipalArn     string            `json:"principalArn"`
	KubernetesGroups []string          `json:"kubernetesGroups"`
	AccessEntryArn   string            `json:"accessEntryArn"`
	CreatedAt        wire.Epoch        `json:"createdAt"`
	ModifiedAt       wire.Epoch        `json:"modifiedAt"`
	Tags             map[string]string `json:"tags"`
	Username         string            `json:"username"`
	Type             string            `json:"type"`
}

type entryResult struct {
	AccessEntry entryOut `json:"accessEntry"`
}

func (e *entry) result(cluster string) entryResult {
	return entryResult{entryOut{
		cluster, e.principal, append([]string{}, e.groups...), e.arn, wire.Epoch(e.created), wire.Epoch(e.modified), maps.Clone(e.tags), e.username, e.kind,
	}}
}

// nodeUsernames are the types of entries for nodes with the usernames that EKS
// gives them.
// Source: EKS user guide, "Create access entries".
func nodeUsernames() map[string]string {
	return map[string]string{
		"EC2_LINUX":     "system:node:{{EC2PrivateDNSName}}",
		"EC2_WINDOWS":   "system:node:{{EC2PrivateDNSName}}",
		"EC2":           "system:node:{{EC2PrivateDNSName}}",
		"FARGATE_LINUX": "system:node:{{SessionName}}",
		"HYBRID_LINUX":  "system:node:{{SessionName}}",
	}
}

func noEntry() error {
	return &wire.Error{
		Code: "ResourceNotFoundException", Status: 404,
		Message: "The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'.",
	}
}

type createIn struct {
	PrincipalArn       string            `json:"principalArn"`
	KubernetesGroups   []string          `json:"kubernetesGroups"`
	Tags               map[string]string `json:"tags"`
	ClientRequestToken string            `json:"clientRequestToken"`
	Username           string            `json:"username"`
	Type               string            `json:"type"`
}

func (s *Service) createEntry(ctx context.Context, req *wire.Request, in *createIn) (any, error) {
	if in.Type == "" {
		in.Type = "STANDARD"
	}
	conditions := wire.TagConditions(in.Tags)
	conditions["eks:principalArn"] = []string{in.PrincipalArn}
	conditions["eks:accessEntryType"] = []string{in.Type}
	conditions["eks:kubernetesGroups"] = in.KubernetesGroups
	if in.Username != "" {
		conditions["eks:username"] = []string{in.Username}
	}
	out, err := s.withCluster(ctx, req, conditions, func(c *cluster) (any, error) {
		if c.authenticationMode() == "CONFIG_MAP" {
			return nil, wire.Errorf("InvalidRequestException", "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] to perform this operation.")
		}
		e, err := s.newEntry(c.Name, in, req.Now.UTC())
		if err != nil {
			return nil, err
		}
		if old, ok := s.entries[c.Name+"/"+e.principal]; ok {
			if in.ClientRequestToken != "" && old.token == in.ClientRequestToken {
				return old.result(c.Name), nil
			}
			return nil, &wire.Error{Code: "ResourceInUseException", Status: 409, Message: "The specified access entry resource is already in use on this cluster."}
		}
		s.entries[c.Name+"/"+e.principal] = e
		return e.result(c.Name), nil
	})
	return out, err
}

// newEntry checks the parameters of a creation.
func (s *Service) newEntry(cluster string, in *createIn, now time.Time) (*entry, error) {
	parts := regexp.MustCompile(`^arn:aws[a-z-]*:iam::([0-9]{12}):(role|user)/(.+)$`).FindStringSubmatch(in.PrincipalArn)
	id := s.PrincipalID(in.PrincipalArn)
	if parts == nil || id == "" {
		return nil, wire.Errorf("InvalidParameterException", "The specified principalArn is invalid: invalid principal.")
	}
	e := &entry{
		principal: in.PrincipalArn, principalID: id, kind: in.Type, username: in.Username, groups: in.KubernetesGroups, tags: maps.Clone(in.Tags), token: in.ClientRequestToken,
		created: now, modified: now,
		arn: s.arn("access-entry", cluster+"/"+parts[2]+"/"+parts[1]+"/"+parts[3]+"/"+uuid.NewString()),
	}
	if e.tags == nil {
		e.tags = map[string]string{}
	}
	if username, ok := nodeUsernames()[in.Type]; ok {
		if in.Username != "" || len(in.KubernetesGroups) > 0 {
			return nil, wire.Errorf("InvalidParameterException", "The username and kubernetesGroups of an access entry of type %s cannot be specified.", in.Type)
		}
		e.username, e.groups = username, []string{"system:nodes"}
		return e, nil
	}
	if in.Type != "STANDARD" {
		return nil, wire.Errorf("InvalidParameterException", "The type %s of the access entry is not valid.", in.Type)
	}
	if e.username == "" {
		e.username = in.PrincipalArn
		if parts[2] == "role" {
			e.username = "arn:aws:sts::" + parts[1] + ":assumed-role/" + parts[3][strings.LastIndexByte(parts[3], '/')+1:] + "/{{SessionName}}"
		}
	}
	return e, checkNames(e.username, e.groups)
}

// checkNames refuses names that Kubernetes keeps for itself.
func checkNames(username string, groups []string) error {
	for _, prefix := range []string{"system:", "eks:", "aws:", "amazon:", "iam:"} {
		if strings.HasPrefix(username, prefix) {
			return wire.Errorf("InvalidParameterException", "The username %s is invalid, it cannot start with %s", username, prefix)
		}
	}
	for _, group := range groups {
		if strings.HasPrefix(group, "system:") {
			return wire.Errorf("InvalidParameterException", "The kubernetes group name %s is invalid, it cannot start with system:", group)
		}
	}
	return nil
}

// withEntry authorizes the action on the access entry of the path, finds it
// and does something to it, under the lock.
func (s *Service) withEntry(ctx context.Context, req *wire.Request, conditions map[string][]string, do func(*cluster, *entry) (any, error)) (any, error) {
	name, principal := pathPart(req, 1), pathPart(req, 3)
	parts := strings.SplitN(principal, ":", 6)
	arn, tags := s.arn("access-entry", name+"/*"), map[string]string(nil)
	if len(parts) == 6 {
		kind, rest, _ := strings.Cut(parts[5], "/")
		arn = s.arn("access-entry", name+"/"+kind+"/"+parts[4]+"/"+rest+"/*")
	}
	s.mu.Lock()
	if e, ok := s.entries[name+"/"+principal]; ok {
		arn, tags = e.arn, maps.Clone(e.tags)
	}
	s.mu.Unlock()
	if err := s.allow(ctx, req, arn, tags, conditions); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.clusters[name]
	if !ok {
		return nil, noCluster(name)
	}
	e, ok := s.entries[name+"/"+principal]
	if !ok {
		return nil, noEntry()
	}
	return do(c, e)
}

func (s *Service) describeEntry(ctx context.Context, req *wire.Request) (any, error) {
	return s.withEntry(ctx, req, nil, func(c *cluster, e *entry) (any, error) { return e.result(c.Name), nil })
}

func (s *Service) deleteEntry(ctx context.Context, req *wire.Request) (any, error) {
	return s.withEntry(ctx, req, nil, func(c *cluster, e *entry) (any, error) {
		delete(s.entries, c.Name+"/"+e.principal)
		return nil, nil
	})
}

func (s *Service) listEntries(ctx context.Context, req *wire.Request) (any, error) {
	wanted := req.Query.Get("associatedPolicyArn")
	return s.withCluster(ctx, req, nil, func(c *cluster) (any, error) {
		arns := []string{}
		for _, key := range slices.Sorted(maps.Keys(s.entries)) {
			principal, here := strings.CutPrefix(key, c.Name+"/")
			if here && (wanted == "" || slices.Contains(s.entries[key].policies, wanted)) {
				arns = append(arns, principal)
			}
		}
		arns, next, err := page(req, arns, func(a string) string { return a })
		if err != nil {
			return nil, err
		}
		return struct {
			AccessEntries []string `json:"accessEntries"`
			NextToken     string   `json:"nextToken,omitempty"`
		}{append([]string{}, arns...), next}, nil
	})
}

// AccessEntry is an entry as the cluster's authenticator uses it.
type AccessEntry struct {
	Username string // may hold {{SessionName}} or {{EC2PrivateDNSName}}
	Groups   []string
	Policies []string // names of access policies over the whole cluster
}

// Lookup finds the access entry of a principal (a role or user ARN, and its unique id), as the
// cluster sees it: DelayAccessEntry. An entry is for the principal of which it was made: one
// that was made again under the same name has none.
// Source: EKS user guide, "Create access entries".
func (s *Service) Lookup(clusterName, principalARN, principalID string) (AccessEntry, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[clusterName+"/"+principalARN]
	if !ok || e.principalID != principalID {
		return AccessEntry{}, false
	}
	if e.unseen > 0 {
		e.unseen--
		return AccessEntry{}, false
	}
	out := AccessEntry{Username: e.username, Groups: slices.Clone(e.groups)}
	for _, arn := range e.policies {
		out.Policies = append(out.Policies, strings.TrimPrefix(arn, policyPrefix))
	}
	return out, true
}

// CreateAccessEntry seeds an entry of type STANDARD with access policies over
// the whole cluster, as the creator of a cluster has one.
func (s *Service) CreateAccessEntry(clusterName, principalARN string, groups []string, policyARNs ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clusters[clusterName] == nil {
		return noCluster(clusterName)
	}
	e, err := s.newEntry(clusterName, &createIn{PrincipalArn: principalARN, KubernetesGroups: groups, Type: "STANDARD"}, s.Now().UTC())
	if err != nil {
		return err
	}
	e.policies = slices.Sorted(slices.Values(policyARNs))
	s.entries[clusterName+"/"+principalARN] = e
	return nil
}

// DelayAccessEntry hides an entry from its cluster for the next lookups of the principal.
// EKS shows a new entry to the cluster some seconds after the creation has returned; a number
// of lookups takes no account of how fast a test runs. left tells how many lookups are still
// to miss the entry.
func (s *Service) DelayAccessEntry(clusterName, principalARN string, lookups int) (left func() int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[clusterName+"/"+principalARN]
	if !ok {
		return nil, noEntry()
	}
	e.unseen = lookups
	return func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return e.unseen
	}, nil
}
