// Package stssim is the simulated STS: who am I, and temporary credentials of
// roles, for those whom a role's trust policy names: users and other roles
// (AssumeRole), service accounts with a token of a registered OIDC issuer
// (AssumeRoleWithWebIdentity) and EC2 instances.
//
// It keeps no state: roles, providers and sessions are IAM's (package iamsim).
// Durations in the protocol are seconds.
package stssim

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Config is what STS needs of its surroundings.
type Config struct {
	IAM  *iamsim.Service
	JWKS func(context.Context) ([]byte, error) // the published keys of the OIDC issuer; nil: none can be had
	Now  func() time.Time
}

// Service is the simulated STS. Safe for concurrent use.
type Service struct{ Config }

// New makes an STS over an IAM.
func New(c Config) *Service { return &Service{c} }

const (
	defaultLifetime  = time.Hour
	instanceLifetime = 6 * time.Hour
)

type credentialsXML struct {
	AccessKeyID     string `xml:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      time.Time
}

type assumedRoleXML struct {
	AssumedRoleID string `xml:"AssumedRoleId"`
	Arn           string
}

// Actions lists what is simulated, sorted.
func (s *Service) Actions() []string {
	return []string{"AssumeRole", "AssumeRoleWithWebIdentity", "GetCallerIdentity"}
}

// Serve answers one STS action.
func (s *Service) Serve(ctx context.Context, req *wire.Request) (any, error) {
	switch req.Action {
	case "GetCallerIdentity":
		id := req.Identity
		return struct {
			UserID       string `xml:"UserId"`
			Account, Arn string
		}{id.UserID, id.Account, id.ARN}, nil
	case "AssumeRole":
		return s.assumeRole(req)
	case "AssumeRoleWithWebIdentity":
		return s.assumeRoleWithWebIdentity(ctx, req)
	}
	return nil, wire.Errorf("InvalidAction", "Could not find operation %s for version 2011-06-15", req.Action)
}

func (s *Service) assumeRole(req *wire.Request) (any, error) {
	arn, name, err := sessionParameters(req)
	if err != nil {
		return nil, err
	}
	denied := &wire.Error{Code: "AccessDenied", Status: 403, Message: fmt.Sprintf("User: %s is not authorized to perform: sts:AssumeRole on resource: %s", req.Identity.ARN, arn)}
	role, ok := s.IAM.Role(arn)
	if !ok {
		return nil, denied
	}
	conditions := map[string][]string{"sts:RoleSessionName": {name}}
	keys := map[string][]string{"sts:rolesessionname": {name}, "aws:principalarn": {req.Identity.Principal}, "aws:securetransport": {"true"}, "aws:requestedregion": {req.Region}}
	if external := req.Form.Get("ExternalId"); external != "" {
		conditions["sts:ExternalId"] = []string{external}
		keys["sts:externalid"] = []string{external}
	}
	trust := policy.Evaluate(policy.Request{Action: "sts:AssumeRole", Resource: arn, Keys: keys, Caller: iamsim.Caller(req.Identity)}, role.Trust)
	own := s.IAM.Decide(req, "sts:AssumeRole", arn, conditions)
	// A trust policy that names the caller suffices; one that names the account
	// leaves it to the caller's own policies.
	if own == policy.Deny || trust != policy.Allow && (trust != policy.Delegated || own != policy.Allow) {
		return nil, denied
	}
	lifetime, err := lifetimeOf(req, role)
	if err != nil {
		return nil, err
	}
	c := s.IAM.IssueSession(role, name, lifetime)
	return struct {
		Credentials     credentialsXML
		AssumedRoleUser assumedRoleXML
	}{credentialsOf(c), assumedRoleXML{c.Identity.UserID, c.Identity.ARN}}, nil
}

func (s *Service) assumeRoleWithWebIdentity(ctx context.Context, req *wire.Request) (any, error) {
	arn, name, err := sessionParameters(req)
	if err != nil {
		return nil, err
	}
	token, err := s.verifyToken(ctx, req.Form.Get("WebIdentityToken"), req.Now)
	if err != nil {
		return nil, err
	}
	role, ok := s.IAM.Role(arn)
	keys := map[string][]string{
		"sts:rolesessionname": {name}, "aws:federatedprovider": {token.provider.ARN}, "aws:securetransport": {"true"}, "aws:requestedregion": {req.Region},
		strings.ToLower(token.provider.URL) + ":aud": {token.audience}, strings.ToLower(token.provider.URL) + ":sub": {token.subject},
	}
	question := policy.Request{Action: "sts:AssumeRoleWithWebIdentity", Resource: arn, Keys: keys, Caller: policy.Caller{Federated: token.provider.ARN}}
	if !ok || policy.Evaluate(question, role.Trust) != policy.Allow {
		return nil, &wire.Error{Code: "AccessDenied", Status: 403, Message: "Not authorized to perform sts:AssumeRoleWithWebIdentity"}
	}
	lifetime, err := lifetimeOf(req, role)
	if err != nil {
		return nil, err
	}
	c := s.IAM.IssueSession(role, name, lifetime)
	return struct {
		Credentials                 credentialsXML
		SubjectFromWebIdentityToken string
		AssumedRoleUser             assumedRoleXML
		Provider                    string
		Audience                    string
	}{credentialsOf(c), token.subject, assumedRoleXML{c.Identity.UserID, c.Identity.ARN}, token.provider.ARN, token.audience}, nil
}

// ForInstance makes the credentials that an instance's metadata service hands
// out for the role of its profile; the role must trust EC2.
func (s *Service) ForInstance(roleARN, instanceID string) (iamsim.Credential, error) {
	role, ok := s.IAM.Role(roleARN)
	if !ok {
		return iamsim.Credential{}, fmt.Errorf("%w: role %q of instance %s does not exist", ErrNotAssumable, roleARN, instanceID)
	}
	keys := map[string][]string{"aws:securetransport": {"true"}}
	question := policy.Request{Action: "sts:AssumeRole", Resource: roleARN, Keys: keys, Caller: policy.Caller{Service: "ec2.amazonaws.com"}}
	if policy.Evaluate(question, role.Trust) != policy.Allow {
		return iamsim.Credential{}, fmt.Errorf("%w: role %s does not trust ec2.amazonaws.com", ErrNotAssumable, roleARN)
	}
	return s.IAM.IssueSession(role, instanceID, instanceLifetime), nil
}

func sessionParameters(req *wire.Request) (arn, name string, err error) {
	arn, name = req.Form.Get("RoleArn"), req.Form.Get("RoleSessionName")
	if !regexp.MustCompile(`^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$`).MatchString(arn) {
		return "", "", wire.Errorf("ValidationError", "%s is invalid", arn)
	}
	if !regexp.MustCompile(`^[\w+=,.@-]{2,64}$`).MatchString(name) {
		return "", "", wire.Errorf("ValidationError", "1 validation error detected: Value '%s' at 'roleSessionName' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\w+=,.@-]*", name)
	}
	for key := range req.Form {
		if key == "Policy" || regexp.MustCompile(`^(PolicyArns|Tags|TransitiveTagKeys)\.`).MatchString(key) {
			return "", "", wire.Errorf("ValidationError", "session policies and session tags are not simulated (parameter %s)", key)
		}
	}
	return arn, name, nil
}

func lifetimeOf(req *wire.Request, role iamsim.Role) (time.Duration, error) {
	text := req.Form.Get("DurationSeconds")
	if text == "" {
		return defaultLifetime, nil
	}
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 900 {
		return 0, wire.Errorf("ValidationError", "1 validation error detected: Value '%s' at 'durationSeconds' failed to satisfy constraint: Member must have value greater than or equal to 900", text)
	}
	lifetime := time.Duration(seconds) * time.Second
	if lifetime > role.MaxSession {
		return 0, wire.Errorf("ValidationError", "The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
	}
	return lifetime, nil
}

func credentialsOf(c iamsim.Credential) credentialsXML {
	return credentialsXML{c.AccessKeyID, c.SecretAccessKey, c.SessionToken, c.Expiration}
}
