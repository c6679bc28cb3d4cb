package ekssim

import (
	"cmp"
	"context"
	"encoding/base64"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Config is what EKS needs of its surroundings.
type Config struct {
	Region, Account string
	Now             func() time.Time
	Auth            wire.Authorizer
	PrincipalID     func(arn string) string // the unique id of a user or role of IAM; "" for none
	TrustsPods      func(PodSession) bool   // whether the session's role lets its pods have it
}

// Service is the simulated EKS. Safe for concurrent use.
type Service struct {
	Config
	wire.Handlers

	mu       sync.Mutex
	clusters map[string]*cluster        // by name
	entries  map[string]*entry          // by cluster/principal ARN
	pods     map[string]*podAssociation // by cluster/namespace/service account
}

// Cluster is what the laboratory says of its control plane.
type Cluster struct {
	Name                   string
	Version                string // e.g. 1.36
	Endpoint               string // https URL of the API server
	CA                     []byte // PEM
	Issuer                 string // https URL of its OIDC issuer
	ServiceCIDR            string
	VPCID                  string
	SubnetIDs              []string
	ClusterSecurityGroupID string
	RoleARN                string
	AuthenticationMode     string // API where empty
	Status                 string // ACTIVE where empty
	NodeGroups             []NodeGroup
	FargateProfiles        []string // names
	Addons                 []string // names
	Tags                   map[string]string
}

func (c Cluster) authenticationMode() string {
	if c.AuthenticationMode == "" {
		return "API"
	}
	return c.AuthenticationMode
}

type cluster struct {
	Cluster
	created time.Time
}

// New makes an EKS without clusters.
func New(c Config) *Service {
	s := &Service{Config: c, clusters: map[string]*cluster{}, entries: map[string]*entry{}, pods: map[string]*podAssociation{}}
	s.Handlers = wire.Handlers{
		"DescribeCluster":                s.describeCluster,
		"CreateAccessEntry":              wire.JSON(s.createEntry),
		"DescribeAccessEntry":            s.describeEntry,
		"DeleteAccessEntry":              s.deleteEntry,
		"ListAccessEntries":              s.listEntries,
		"CreatePodIdentityAssociation":   wire.JSON(s.createPodAssociation),
		"DescribePodIdentityAssociation": s.describePodAssociation,
		"ListPodIdentityAssociations":    s.listPodAssociations,
		"UpdatePodIdentityAssociation":   wire.JSON(s.updatePodAssociation),
		"DeletePodIdentityAssociation":   s.deletePodAssociation,
		"TagResource":                    wire.JSON(s.tagResource),
		"UntagResource":                  s.untagResource,
		"ListTagsForResource":            s.listTags,
		"ListNodegroups":                 s.listNodeGroups,
		"DescribeNodegroup":              s.describeNodeGroup,
		"ListFargateProfiles":            s.listFargateProfiles,
		"ListAddons":                     s.listAddons,
	}
	return s
}

// Route names the action of a method and escaped path; "" where there is none.
func (s *Service) Route(method, path string) string {
	parts := pathParts(path)
	at := func(i int) string {
		if i < len(parts) {
			return parts[i]
		}
		return ""
	}
	shape := method + " " + at(0)
	if at(0) == "clusters" && len(parts) > 2 {
		shape += "/*/" + at(2)
		if len(parts) > 4 {
			shape += "/*/" + at(4)
		}
	}
	return map[string]string{
		"GET clusters 2":                                "DescribeCluster",
		"POST clusters/*/access-entries 3":              "CreateAccessEntry",
		"GET clusters/*/access-entries 3":               "ListAccessEntries",
		"GET clusters/*/access-entries 4":               "DescribeAccessEntry",
		"DELETE clusters/*/access-entries 4":            "DeleteAccessEntry",
		"POST clusters/*/pod-identity-associations 3":   "CreatePodIdentityAssociation",
		"GET clusters/*/pod-identity-associations 3":    "ListPodIdentityAssociations",
		"GET clusters/*/pod-identity-associations 4":    "DescribePodIdentityAssociation",
		"POST clusters/*/pod-identity-associations 4":   "UpdatePodIdentityAssociation",
		"DELETE clusters/*/pod-identity-associations 4": "DeletePodIdentityAssociation",
		"GET clusters/*/node-groups 3":                  "ListNodegroups",
		"GET clusters/*/node-groups 4":                  "DescribeNodegroup",
		"GET clusters/*/fargate-profiles 3":             "ListFargateProfiles",
		"GET clusters/*/addons 3":                       "ListAddons",
		"POST tags 2":                                   "TagResource",
		"DELETE tags 2":                                 "UntagResource",
		"GET tags 2":                                    "ListTagsForResource",
	}[shape+" "+strconv.Itoa(len(parts))]
}

// pathParts splits an escaped path and unescapes its parts, which may hold ARNs.
func pathParts(path string) []string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for i, p := range parts {
		if text, err := url.PathUnescape(p); err == nil {
			parts[i] = text
		}
	}
	return parts
}

// pathPart is the part of the request's path at an index, "" beyond its end.
func pathPart(req *wire.Request, i int) string {
	if parts := pathParts(req.Path); i < len(parts) {
		return parts[i]
	}
	return ""
}

// CreateCluster seeds a cluster.
func (s *Service) CreateCluster(c Cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Tags = maps.Clone(c.Tags)
	if c.Tags == nil {
		c.Tags = map[string]string{}
	}
	s.clusters[c.Name] = &cluster{Cluster: c, created: s.Now().UTC()}
}

// DeleteCluster ends a cluster.
func (s *Service) DeleteCluster(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clusters, name)
	maps.DeleteFunc(s.entries, func(key string, _ *entry) bool { return strings.HasPrefix(key, name+"/") })
	maps.DeleteFunc(s.pods, func(key string, _ *podAssociation) bool { return strings.HasPrefix(key, name+"/") })
}

func (s *Service) arn(kind, name string) string {
	return "arn:aws:eks:" + s.Region + ":" + s.Account + ":" + kind + "/" + name
}

func noCluster(name string) error {
	return &wire.Error{Code: "ResourceNotFoundException", Status: 404, Message: "No cluster found for name: " + name + "."}
}

// allow asks for permission to do the request's action on a resource.
func (s *Service) allow(ctx context.Context, req *wire.Request, arn string, tags map[string]string, conditions map[string][]string) error {
	return s.Auth.Authorize(ctx, req, wire.Access{
		Action: "eks:" + req.Action, Resources: []wire.Resource{{ARN: arn, Tags: tags}}, Conditions: conditions,
	})
}

// withCluster authorizes the action on the cluster of the path, finds it and
// does something to it, under the lock.
func (s *Service) withCluster(ctx context.Context, req *wire.Request, conditions map[string][]string, do func(*cluster) (any, error)) (any, error) {
	name := pathPart(req, 1)
	s.mu.Lock()
	var tags map[string]string
	if c, ok := s.clusters[name]; ok {
		tags = maps.Clone(c.Tags)
	}
	s.mu.Unlock()
	if err := s.allow(ctx, req, s.arn("cluster", name), tags, conditions); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.clusters[name]
	if !ok {
		return nil, noCluster(name)
	}
	return do(c)
}

type clusterOut struct {
	Name                    string            `json:"name"`
	Arn                     string            `json:"arn"`
	CreatedAt               wire.Epoch        `json:"createdAt"`
	Version                 string            `json:"version"`
	Endpoint                string            `json:"endpoint"`
	RoleArn                 string            `json:"roleArn,omitempty"`
	ResourcesVpcConfig      vpcOut            `json:"resourcesVpcConfig"`
	KubernetesNetworkConfig networkOut        `json:"kubernetesNetworkConfig"`
	Identity                identityOut       `json:"identity"`
	Status                  string            `json:"status"`
	CertificateAuthority    dataOut           `json:"certificateAuthority"`
	PlatformVersion         string            `json:"platformVersion"`
	Tags                    map[string]string `json:"tags"`
	AccessConfig            accessOut         `json:"accessConfig"`
}

type vpcOut struct {
	SubnetIDs              []string `json:"subnetIds"`
	SecurityGroupIDs       []string `json:"securityGroupIds"`
	ClusterSecurityGroupID string   `json:"clusterSecurityGroupId,omitempty"`
	VPCID                  string   `json:"vpcId,omitempty"`
	EndpointPublicAccess   bool     `json:"endpointPublicAccess"`
	EndpointPrivateAccess  bool     `json:"endpointPrivateAccess"`
	PublicAccessCidrs      []string `json:"publicAccessCidrs"`
}

type networkOut struct {
	ServiceIpv4Cidr string `json:"serviceIpv4Cidr"`
	IPFamily        string `json:"ipFamily"`
}

type identityOut struct {
	Oidc struct {
		Issuer string `json:"issuer"`
	} `json:"oidc"`
}

type dataOut struct {
	Data string `json:"data"`
}

type accessOut struct {
	AuthenticationMode string `json:"authenticationMode"`
}

func (s *Service) describeCluster(ctx context.Context, req *wire.Request) (any, error) {
	return s.withCluster(ctx, req, nil, func(c *cluster) (any, error) {
		out := clusterOut{
			Name: c.Name, Arn: s.arn("cluster", c.Name), CreatedAt: wire.Epoch(c.created), Version: c.Version, Endpoint: c.Endpoint, RoleArn: c.RoleARN,
			ResourcesVpcConfig: vpcOut{
				SubnetIDs: append([]string{}, c.SubnetIDs...), SecurityGroupIDs: []string{}, ClusterSecurityGroupID: c.ClusterSecurityGroupID, VPCID: c.VPCID,
				EndpointPublicAccess: true, EndpointPrivateAccess: true, PublicAccessCidrs: []string{"0.0.0.0/0"},
			},
			KubernetesNetworkConfig: networkOut{c.ServiceCIDR, "ipv4"}, Status: cmp.Or(c.Status, "ACTIVE"), PlatformVersion: "eks.1",
			CertificateAuthority: dataOut{base64.StdEncoding.EncodeToString(c.CA)}, Tags: maps.Clone(c.Tags), AccessConfig: accessOut{c.authenticationMode()},
		}
		out.Identity.Oidc.Issuer = c.Issuer
		return struct {
			Cluster clusterOut `json:"cluster"`
		}{out}, nil
	})
}

// page cuts a list by the query's maxResults and nextToken.
func page[T any](req *wire.Request, items []T, key func(T) string) ([]T, string, error) {
	limit := 100
	if text := req.Query.Get("maxResults"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			return nil, "", wire.Errorf("InvalidParameterException", "maxResults %q is not a number from 1 to 100", text)
		}
		limit = n
	}
	items, next := wire.Page(items, key, req.Query.Get("nextToken"), limit)
	return items, next, nil
}
