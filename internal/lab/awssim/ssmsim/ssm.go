// Package ssmsim is the simulated parameter store of SSM: the public
// parameters under /aws/service, which the laboratory seeds and nobody can
// write over the wire.
package ssmsim

import (
	"context"
	"maps"
	"slices"
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
	actions map[string]wire.Handler

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
	s.actions = map[string]wire.Handler{
		"GetParameter":        wire.JSON(s.getParameter),
		"GetParameters":       wire.JSON(s.getParameters),
		"GetParametersByPath": wire.JSON(s.getByPath),
	}
	return s
}

// Seed sets a parameter; setting it again makes a new version.
func (s *Service) Seed(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parameters[name] = parameter{value, s.parameters[name].version + 1, s.Now().UTC()}
}

// Actions lists what is simulated, sorted.
func (s *Service) Actions() []string { return slices.Sorted(maps.Keys(s.actions)) }

// Serve answers one SSM action.
func (s *Service) Serve(ctx context.Context, req *wire.Request) (any, error) {
	h, ok := s.actions[req.Action]
	if !ok {
		return nil, wire.Errorf("UnknownOperationException", "SSM has no action %s here", req.Action)
	}
	return h(ctx, req)
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
func (s *Service) nameOf(text string) (name, version string) {
	if strings.HasPrefix(text, "arn:") {
		parts := strings.SplitN(text, ":", 6)
		text = strings.TrimPrefix(parts[len(parts)-1], "parameter")
	}
	name, version, _ = strings.Cut(text, ":")
	return name, version
}

// find looks a parameter up. Called with the lock held.
func (s *Service) find(text string) (parameterOut, error) {
	name, version := s.nameOf(text)
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

func (s *Service) allow(ctx context.Context, req *wire.Request, names ...string) error {
	access := wire.Access{Action: "ssm:" + req.Action}
	for _, text := range names {
		name, _ := s.nameOf(text)
		access.Resources = append(access.Resources, wire.Resource{ARN: s.arn(name)})
	}
	return s.Auth.Authorize(ctx, req, access)
}

func (s *Service) getParameter(ctx context.Context, req *wire.Request, in *struct {
	Name           string
	WithDecryption bool
},
) (any, error) {
	if in.Name == "" {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value null at 'name' failed to satisfy constraint: Member must not be null")
	}
	if err := s.allow(ctx, req, in.Name); err != nil {
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

func (s *Service) getParameters(ctx context.Context, req *wire.Request, in *struct {
	Names          []string
	WithDecryption bool
},
) (any, error) {
	if len(in.Names) == 0 || len(in.Names) > 10 {
		return nil, wire.Errorf("ValidationException", "1 validation error detected: Value at 'names' failed to satisfy constraint: Member must have length from 1 to 10")
	}
	if err := s.allow(ctx, req, in.Names...); err != nil {
		return nil, err
	}
	out := struct {
		Parameters        []parameterOut
		InvalidParameters []string
	}{[]parameterOut{}, []string{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range in.Names {
		if p, err := s.find(name); err == nil {
			out.Parameters = append(out.Parameters, p)
		} else {
			out.InvalidParameters = append(out.InvalidParameters, name)
		}
	}
	return out, nil
}

func (s *Service) getByPath(ctx context.Context, req *wire.Request, in *struct {
	Path           string
	Recursive      bool
	WithDecryption bool
	MaxResults     *int
	NextToken      string
},
) (any, error) {
	limit := 10
	if in.MaxResults != nil {
		limit = *in.MaxResults
	}
	if !strings.HasPrefix(in.Path, "/") || limit < 1 || limit > 10 {
		return nil, wire.Errorf("ValidationException", "Path %q must begin with / and MaxResults %d be from 1 to 10", in.Path, limit)
	}
	if err := s.allow(ctx, req, in.Path); err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(in.Path, "/") + "/"
	s.mu.Lock()
	defer s.mu.Unlock()
	found := []parameterOut{}
	for _, name := range slices.Sorted(maps.Keys(s.parameters)) {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || !in.Recursive && strings.Contains(rest, "/") {
			continue
		}
		p, err := s.find(name)
		if err != nil {
			return nil, err
		}
		found = append(found, p)
	}
	found, next := wire.Page(found, func(p parameterOut) string { return p.Name }, in.NextToken, limit)
	return struct {
		Parameters []parameterOut
		NextToken  string `json:",omitempty"`
	}{found, next}, nil
}
