// Package ssmsim is the simulated parameter store of SSM: the public
// parameters under /aws/service, which the laboratory seeds and nobody can
// write over the wire.
package ssmsim

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// Config is what SSM needs of its surroundings.
type Config struct {
	Region, Account string
	Now             func() time.Time
	Auth            wire.Authorizer
}

// Service is the simulated SSM. Safe for concurrent use.
type Service struct {
	Config
	wire.Handlers

	mu         sync.Mutex
	parameters map[string]parameter // by name
}

type parameter struct {
	value    string
	version  int64
	modified time.Time
}

type parameterOut struct {
	Name             string
	Type             string
	Value            string
	Version          int64
	LastModifiedDate wire.Epoch
	ARN              string
	DataType         string
	Selector         string `json:",omitempty"`
}

// New makes an SSM without parameters.
func New(c Config) *Service {
	s := &Service{Config: c, parameters: map[string]parameter{}}
	s.Handlers = wire.Handlers{"GetParameter": wire.JSON(s.getParameter)}
	return s
}

// Seed sets a parameter; setting it again makes a new version.
func (s *Service) Seed(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parameters[name] = parameter{value, s.parameters[name].version + 1, s.Now().UTC()}
}

// arn names a parameter; those of AWS are in no account.
func (s *Service) arn(name string) string {
	account := s.Account
	if strings.HasPrefix(name, "/aws/") {
		account = ""
	}
	return "arn:aws:ssm:" + s.Region + ":" + account + ":parameter/" + strings.TrimPrefix(name, "/")
}

// nameOf reads a name, which may be an ARN and may end with a version (name:3).
func nameOf(text string) (name, version string) {
	if strings.HasPrefix(text, "arn:") {
		parts := strings.SplitN(text, ":", 6)
		text = strings.TrimPrefix(parts[len(parts)-1], "parameter")
	}
	name, version, _ = strings.Cut(text, ":")
	return name, version
}

// find looks a parameter up. Called with the lock held.
func (s *Service) find(text string) (parameterOut, error) {
	name, version := nameOf(text)
	p, ok := s.parameters[name]
	if !ok {
		return parameterOut{}, wire.Errorf("ParameterNotFound", "Parameter %s not found.", text)
	}
	out := parameterOut{Name: name, Type: "String", Value: p.value, Version: p.version, LastModifiedDate: wire.Epoch(p.modified), ARN: s.arn(name), DataType: "text"}
	if version != "" {
		// Older versions are not kept.
		if version != strconv.FormatInt(p.version, 10) {
			return parameterOut{}, wire.Errorf("ParameterVersionNotFound", "Systems Manager could not find version %s of %s. Verify the version and try again.", version, name)
		}
		out.Selector = ":" + version
	}
	return out, nil
}

func (s *Service) getParameter(ctx context.Context, req *wire.Request, in *struct {
	Name           string
	WithDecryption bool
},
) (any, error) {
	if in.Name == "" {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value null at 'name' failed to satisfy constraint: Member must not be null")
	}
	name, _ := nameOf(in.Name)
	if err := s.Auth.Authorize(ctx, req, wire.Access{Action: "ssm:GetParameter", Resources: []wire.Resource{{ARN: s.arn(name)}}}); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.find(in.Name)
	if err != nil {
		return nil, err
	}
	return struct{ Parameter parameterOut }{p}, nil
}
