package ekssim

import (
	"context"
	"crypto/rand"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// PodSession is what EKS asks STS for on behalf of a pod.
type PodSession struct {
	RoleARN, Cluster, ClusterARN string
	Namespace, ServiceAccount    string
	PodName, PodUID              string // empty where no pod asks yet
	Untagged                     bool   // the association switches the session tags off
}

// PodAssociation gives the pods of a service account an IAM role.
type PodAssociation struct {
	ID, ARN string // the id is a- and 16 letters and digits, and is never given twice
	PodSession
}

type podAssociation struct {
	PodAssociation
	target            string // ARN of a role that the first one assumes, or empty
	tags              map[string]string
	token             string // clientRequestToken of the creation
	created, modified time.Time
}

func (a *podAssociation) key() string { return podsKey(a.Cluster, a.Namespace, a.ServiceAccount) }

func podsKey(cluster, namespace, account string) string {
	return cluster + "/" + namespace + "/" + account
}

type podAssociationOut struct {
	ClusterName        string            `json:"clusterName"`
	Namespace          string            `json:"namespace"`
	ServiceAccount     string            `json:"serviceAccount"`
	RoleArn            string            `json:"roleArn"`
	AssociationArn     string            `json:"associationArn"`
	AssociationID      string            `json:"associationId"`
	Tags               map[string]string `json:"tags"`
	CreatedAt          wire.Epoch        `json:"createdAt"`
	ModifiedAt         wire.Epoch        `json:"modifiedAt"`
	DisableSessionTags bool              `json:"disableSessionTags"`
	TargetRoleArn      string            `json:"targetRoleArn,omitempty"`
}

type podAssociationResult struct {
	Association podAssociationOut `json:"association"`
}

func (a *podAssociation) result() podAssociationResult {
	return podAssociationResult{podAssociationOut{
		a.Cluster, a.Namespace, a.ServiceAccount, a.RoleARN, a.ARN, a.ID, maps.Clone(a.tags), wire.Epoch(a.created), wire.Epoch(a.modified), a.Untagged, a.target,
	}}
}

type podCreateIn struct {
	Namespace          string            `json:"namespace"`
	ServiceAccount     string            `json:"serviceAccount"`
	RoleArn            string            `json:"roleArn"`
	ClientRequestToken string            `json:"clientRequestToken"`
	Tags               map[string]string `json:"tags"`
	DisableSessionTags bool              `json:"disableSessionTags"`
	TargetRoleArn      string            `json:"targetRoleArn"`
}

func (s *Service) createPodAssociation(ctx context.Context, req *wire.Request, in *podCreateIn) (any, error) {
	return s.withCluster(ctx, req, wire.TagConditions(in.Tags), func(c *cluster) (any, error) {
		a := &podAssociation{
			PodAssociation: PodAssociation{PodSession: PodSession{
				RoleARN: in.RoleArn, Cluster: c.Name, ClusterARN: s.arn("cluster", c.Name), Namespace: in.Namespace, ServiceAccount: in.ServiceAccount, Untagged: in.DisableSessionTags,
			}},
			target: in.TargetRoleArn, tags: maps.Clone(in.Tags), token: in.ClientRequestToken, created: req.Now.UTC(), modified: req.Now.UTC(),
		}
		if a.tags == nil {
			a.tags = map[string]string{}
		}
		if a.Namespace == "" || a.ServiceAccount == "" {
			return nil, wire.Errorf("InvalidParameterException", "namespace and serviceAccount are required.")
		}
		if err := s.assumable(a.PodSession); err != nil {
			return nil, err
		}
		if other := s.pods[a.key()]; other != nil {
			if a.token != "" && other.token == a.token {
				return other.result(), nil
			}
			return nil, &wire.Error{Code: "ResourceInUseException", Status: 409, Message: "Association already exists: " + other.ID}
		}
		a.ID = "a-" + strings.ToLower(rand.Text())[:16]
		a.ARN = s.arn("podidentityassociation", c.Name+"/"+a.ID)
		s.pods[a.key()] = a
		return a.result(), nil
	})
}

// assumable refuses a role that is unknown or that pods cannot have. Source of both
// messages: issues 34711 and 41483 of Terraform's AWS provider. What EKS reads of the
// trust policy is not documented: here the session must be allowed.
func (s *Service) assumable(session PodSession) error {
	if !regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$`).MatchString(session.RoleARN) || s.PrincipalID(session.RoleARN) == "" {
		return wire.Errorf("InvalidParameterException", "Role provided in the request does not exist.")
	}
	if s.TrustsPods != nil && !s.TrustsPods(session) {
		return wire.Errorf("InvalidParameterException", "Trust policy of the role provided is invalid.")
	}
	return nil
}

// withPodAssociation authorizes the action on the association of the path, finds it and
// does something to it, under the lock.
func (s *Service) withPodAssociation(ctx context.Context, req *wire.Request, do func(*podAssociation) (any, error)) (any, error) {
	name, id := pathPart(req, 1), pathPart(req, 3)
	find := func() *podAssociation {
		for _, a := range s.pods {
			if a.Cluster == name && a.ID == id {
				return a
			}
		}
		return nil
	}
	s.mu.Lock()
	var tags map[string]string
	if a := find(); a != nil {
		tags = maps.Clone(a.tags)
	}
	s.mu.Unlock()
	if err := s.allow(ctx, req, s.arn("podidentityassociation", name+"/"+id), tags, nil); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clusters[name] == nil {
		return nil, noCluster(name)
	}
	a := find()
	if a == nil {
		return nil, &wire.Error{Code: "ResourceNotFoundException", Status: 404, Message: "Association not found with id " + id}
	}
	return do(a)
}

func (s *Service) describePodAssociation(ctx context.Context, req *wire.Request) (any, error) {
	return s.withPodAssociation(ctx, req, func(a *podAssociation) (any, error) { return a.result(), nil })
}

func (s *Service) updatePodAssociation(ctx context.Context, req *wire.Request, in *struct {
	RoleArn            string  `json:"roleArn"`
	ClientRequestToken string  `json:"clientRequestToken"`
	DisableSessionTags *bool   `json:"disableSessionTags"`
	TargetRoleArn      *string `json:"targetRoleArn"`
},
) (any, error) {
	return s.withPodAssociation(ctx, req, func(a *podAssociation) (any, error) {
		changed := a.PodSession
		if in.RoleArn != "" {
			changed.RoleARN = in.RoleArn
		}
		if in.DisableSessionTags != nil {
			changed.Untagged = *in.DisableSessionTags
		}
		if err := s.assumable(changed); err != nil {
			return nil, err
		}
		if in.TargetRoleArn != nil {
			a.target = *in.TargetRoleArn
		}
		a.PodSession, a.modified = changed, req.Now.UTC()
		return a.result(), nil
	})
}

func (s *Service) deletePodAssociation(ctx context.Context, req *wire.Request) (any, error) {
	return s.withPodAssociation(ctx, req, func(a *podAssociation) (any, error) {
		delete(s.pods, a.key())
		return a.result(), nil
	})
}

func (s *Service) listPodAssociations(ctx context.Context, req *wire.Request) (any, error) {
	type summary struct {
		ClusterName    string `json:"clusterName"`
		Namespace      string `json:"namespace"`
		ServiceAccount string `json:"serviceAccount"`
		AssociationArn string `json:"associationArn"`
		AssociationID  string `json:"associationId"`
	}
	namespace, account := req.Query.Get("namespace"), req.Query.Get("serviceAccount")
	return s.withCluster(ctx, req, nil, func(c *cluster) (any, error) {
		found := []summary{}
		for _, a := range s.pods {
			if a.Cluster == c.Name && (namespace == "" || a.Namespace == namespace) && (account == "" || a.ServiceAccount == account) {
				found = append(found, summary{c.Name, a.Namespace, a.ServiceAccount, a.ARN, a.ID})
			}
		}
		slices.SortFunc(found, func(a, b summary) int { return strings.Compare(a.AssociationID, b.AssociationID) })
		found, next, err := page(req, found, func(a summary) string { return a.AssociationID })
		if err != nil {
			return nil, err
		}
		return struct {
			Associations []summary `json:"associations"`
			NextToken    string    `json:"nextToken,omitempty"`
		}{append([]summary{}, found...), next}, nil
	})
}

// PodAssociationOf finds the association of a service account.
func (s *Service) PodAssociationOf(clusterName, namespace, serviceAccount string) (PodAssociation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.pods[podsKey(clusterName, namespace, serviceAccount)]
	if !ok {
		return PodAssociation{}, false
	}
	return a.PodAssociation, true
}

// Issuer gives the OIDC issuer of a cluster, whose tokens its pods have.
func (s *Service) Issuer(clusterName string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.clusters[clusterName]
	if !ok {
		return "", false
	}
	return c.Issuer, true
}
