package awssim

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/ekssim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/sigv4"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const (
	tokenPrefix    = "k8s-aws-v1." //nolint:gosec // a token's first characters, not a secret
	clusterHeader  = "x-k8s-aws-id"
	maxTokenExpiry = 900 // seconds, X-Amz-Expires
)

// PolicyGroup is the group that VerifyClusterToken adds for an access policy
// associated over the whole cluster, e.g. AmazonEKSClusterAdminPolicy. On EKS
// an authorizer carries access policies out; a laboratory binds the group to
// the cluster role that the policy stands for.
func PolicyGroup(policyName string) string { return "eks-access-policy:" + policyName }

// VerifyClusterToken does what EKS does with the bearer token of a client: it
// has the presigned GetCallerIdentity in it checked by STS and looks the
// caller up in the cluster's access entries. Errors wrap ErrToken or
// ErrNoAccess.
//
// Source of the rules: the token format and checks of aws-iam-authenticator.
func (c *Cloud) VerifyClusterToken(_ context.Context, clusterName, token string) (username string, groups []string, uid string, err error) {
	identity, err := c.tokenIdentity(clusterName, token)
	if err != nil {
		return "", nil, "", err
	}
	id, _, _ := strings.Cut(identity.UserID, ":")
	entry, ok := c.EKS.Lookup(clusterName, identity.Principal, id)
	if !ok {
		return "", nil, "", fmt.Errorf("%w: cluster %s has none for %s with the id %s", ErrNoAccess, clusterName, identity.Principal, id)
	}
	username, err = c.username(entry, identity)
	if err != nil {
		return "", nil, "", err
	}
	groups = entry.Groups
	for _, name := range entry.Policies {
		groups = append(groups, PolicyGroup(name))
	}
	return username, groups, "aws-iam-authenticator:" + identity.Account + ":" + id, nil
}

// tokenIdentity verifies the token and logs the call that it makes at STS.
func (c *Cloud) tokenIdentity(clusterName, token string) (wire.Identity, error) {
	r, err := c.presigned(token)
	if err != nil {
		return wire.Identity{}, err
	}
	r.Header.Set(clusterHeader, clusterName)
	sig, err := sigv4.Parse(r)
	if err != nil {
		return wire.Identity{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	if !slices.Contains(sig.SignedHeaders, clusterHeader) {
		return wire.Identity{}, fmt.Errorf("%w: the cluster's name is not signed", ErrToken)
	}
	x := &exchange{protocol: protocols()["sts"], sig: sig, request: &wire.Request{Service: "sts", Action: "GetCallerIdentity", ID: newRequestID(), Now: c.options.Now()}}
	identity, err := c.authenticate(r, x)
	call := Call{Time: x.request.Now, Service: "sts", Action: "GetCallerIdentity", Identity: identity.ARN, RequestID: x.request.ID}
	if err != nil {
		call.ErrorCode = asWireError(err).Code
		err = fmt.Errorf("%w for cluster %s: %w", ErrToken, clusterName, err)
	}
	c.calls.add(call)
	return identity, err
}

// presigned takes the request out of a token, and refuses any that is not a
// plain GetCallerIdentity of STS.
func (c *Cloud) presigned(token string) (*http.Request, error) {
	encoded, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		return nil, fmt.Errorf("%w: it does not begin with %s", ErrToken, tokenPrefix)
	}
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	u, err := url.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrToken, err)
	}
	hosts := []string{c.listener.Addr().String(), "sts.amazonaws.com", "sts." + c.options.Region + ".amazonaws.com"}
	if !slices.Contains(hosts, u.Host) || u.Path != "/" {
		return nil, fmt.Errorf("%w: %q is not the address of STS", ErrToken, u.Host+u.Path)
	}
	query := u.Query()
	for name := range query {
		known := []string{"action", "version", "x-amz-algorithm", "x-amz-credential", "x-amz-date", "x-amz-expires", "x-amz-security-token", "x-amz-signature", "x-amz-signedheaders"}
		if !slices.Contains(known, strings.ToLower(name)) {
			return nil, fmt.Errorf("%w: it has the parameter %q", ErrToken, name)
		}
	}
	if query.Get("Action") != "GetCallerIdentity" {
		return nil, fmt.Errorf("%w: its action is %q, not GetCallerIdentity", ErrToken, query.Get("Action"))
	}
	if seconds, err := strconv.Atoi(query.Get("X-Amz-Expires")); err != nil || seconds < 0 || seconds > maxTokenExpiry {
		return nil, fmt.Errorf("%w: X-Amz-Expires is %q, not a number of seconds up to %d", ErrToken, query.Get("X-Amz-Expires"), maxTokenExpiry)
	}
	return &http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{}}, nil
}

// username fills in what the entry's username leaves open.
func (c *Cloud) username(entry ekssim.AccessEntry, identity wire.Identity) (string, error) {
	_, session, _ := strings.Cut(identity.UserID, ":")
	name := strings.ReplaceAll(entry.Username, "{{SessionNameRaw}}", session)
	// Names in Kubernetes have no @.
	name = strings.ReplaceAll(name, "{{SessionName}}", strings.ReplaceAll(session, "@", "-"))
	if !strings.Contains(name, "{{EC2PrivateDNSName}}") {
		return name, nil
	}
	for _, i := range c.EC2.Instances() {
		if i.ID == session {
			return strings.ReplaceAll(name, "{{EC2PrivateDNSName}}", i.PrivateDNSName), nil
		}
	}
	return "", fmt.Errorf("%w: the session %q of %s is not an instance", ErrNoAccess, session, identity.Principal)
}
