package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is where a document is attached, which decides the elements it may have.
type Kind int

const (
	Identity Kind = iota // attached to a user or role: no Principal, needs Resource
	Resource             // attached to a resource: needs Principal and Resource
	Trust                // a role's trust policy: needs Principal, no Resource
)

// ErrMalformed is wrapped by every error of Parse: the document is not a
// policy, or uses an element that is not carried out here.
var ErrMalformed = errors.New("malformed policy document")

// Document is a parsed policy.
type Document struct {
	statements []statement
}

type statement struct {
	deny        bool
	actions     []string // lower case patterns
	notActions  bool
	resources   []string
	notResource bool
	anyResource bool // trust policies: the role itself
	principals  *principals
	conditions  []condition
}

// principals are the callers that a statement of a resource policy names.
type principals struct {
	any       bool
	aws       []string
	service   []string
	federated []string
	not       bool
}

type rawStatement struct {
	Sid          string          `json:"Sid"`
	Effect       string          `json:"Effect"`
	Action       stringList      `json:"Action"`
	NotAction    stringList      `json:"NotAction"`
	Resource     stringList      `json:"Resource"`
	NotResource  stringList      `json:"NotResource"`
	Principal    json.RawMessage `json:"Principal"`
	NotPrincipal json.RawMessage `json:"NotPrincipal"`
	Condition    map[string]map[string]stringList
}

// stringList accepts one value or a list; booleans and numbers count as their text.
type stringList []string

func (l *stringList) UnmarshalJSON(data []byte) error {
	var many []json.RawMessage
	if err := json.Unmarshal(data, &many); err != nil {
		many = []json.RawMessage{data}
	}
	*l = stringList{}
	for _, raw := range many {
		var text string
		if err := json.Unmarshal(raw, &text); err == nil {
			*l = append(*l, text)
			continue
		}
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null" {
			return fmt.Errorf("expected a string or a list of strings, not %s", raw)
		}
		*l = append(*l, string(raw))
	}
	return nil
}

// Parse reads and checks a document. Errors wrap ErrMalformed and name the
// statement by number (from 1).
func Parse(text string, kind Kind) (*Document, error) {
	var raw struct {
		Version   string
		ID        string `json:"Id"`
		Statement json.RawMessage
	}
	if err := decodeStrict([]byte(text), &raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if raw.Version != "" && raw.Version != "2012-10-17" && raw.Version != "2008-10-17" {
		return nil, fmt.Errorf("%w: Version %q is neither 2012-10-17 nor 2008-10-17", ErrMalformed, raw.Version)
	}
	statements, err := splitStatements(raw.Statement)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	doc := &Document{}
	for i, s := range statements {
		parsed, err := parseStatement(s, kind)
		if err != nil {
			return nil, fmt.Errorf("%w: statement %d: %w", ErrMalformed, i+1, err)
		}
		doc.statements = append(doc.statements, parsed)
	}
	return doc, nil
}

func splitStatements(raw json.RawMessage) ([]rawStatement, error) {
	if len(raw) == 0 {
		return nil, errors.New("it has no Statement")
	}
	var many []json.RawMessage
	if err := json.Unmarshal(raw, &many); err != nil {
		many = []json.RawMessage{raw}
	}
	if len(many) == 0 {
		return nil, errors.New("its Statement is empty")
	}
	out := make([]rawStatement, len(many))
	for i, one := range many {
		if err := decodeStrict(one, &out[i]); err != nil {
			return nil, fmt.Errorf("statement %d: %w", i+1, err)
		}
	}
	return out, nil
}

func decodeStrict(data []byte, out any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(out); err != nil {
		return err
	}
	if dec.More() {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

func parseStatement(raw rawStatement, kind Kind) (statement, error) {
	var s statement
	switch raw.Effect {
	case "Allow":
	case "Deny":
		s.deny = true
	default:
		return s, fmt.Errorf("its Effect %q is neither Allow nor Deny", raw.Effect)
	}
	if (len(raw.Action) == 0) == (len(raw.NotAction) == 0) {
		return s, errors.New("it needs exactly one of Action and NotAction, with at least one value")
	}
	s.notActions = len(raw.NotAction) > 0
	for _, a := range append(raw.Action, raw.NotAction...) {
		if a != "*" && !strings.Contains(a, ":") {
			return s, fmt.Errorf("action %q has no service prefix, such as that of ec2:RunInstances", a)
		}
		s.actions = append(s.actions, strings.ToLower(a))
	}
	if err := s.parseResources(raw, kind); err != nil {
		return s, err
	}
	if err := s.parsePrincipals(raw, kind); err != nil {
		return s, err
	}
	var err error
	s.conditions, err = parseConditions(raw.Condition)
	return s, err
}

func (s *statement) parseResources(raw rawStatement, kind Kind) error {
	given := len(raw.Resource) + len(raw.NotResource)
	if kind == Trust {
		if given > 0 {
			return errors.New("a trust policy has no Resource")
		}
		s.anyResource = true
		return nil
	}
	if (len(raw.Resource) == 0) == (len(raw.NotResource) == 0) {
		return errors.New("it needs exactly one of Resource and NotResource, with at least one value")
	}
	s.notResource = len(raw.NotResource) > 0
	for _, r := range append(raw.Resource, raw.NotResource...) {
		if r != "*" && !strings.HasPrefix(r, "arn:") {
			return fmt.Errorf("resource %q is neither an ARN nor *", r)
		}
		s.resources = append(s.resources, r)
	}
	return nil
}

func (s *statement) parsePrincipals(raw rawStatement, kind Kind) error {
	given := len(raw.Principal) > 0 || len(raw.NotPrincipal) > 0
	if kind == Identity {
		if given {
			return errors.New("a policy of an identity has no Principal")
		}
		return nil
	}
	if (len(raw.Principal) > 0) == (len(raw.NotPrincipal) > 0) {
		return errors.New("it needs exactly one of Principal and NotPrincipal")
	}
	p := &principals{not: len(raw.NotPrincipal) > 0}
	value := raw.Principal
	if p.not {
		if !s.deny {
			return errors.New("NotPrincipal is only understood with Deny")
		}
		value = raw.NotPrincipal
	}
	s.principals = p
	var star string
	if json.Unmarshal(value, &star) == nil {
		if star != "*" {
			return fmt.Errorf("principal %q is not an object, nor *", star)
		}
		p.any = true
		return nil
	}
	var kinds map[string]stringList
	if err := json.Unmarshal(value, &kinds); err != nil {
		return fmt.Errorf("principal: %w", err)
	}
	if len(kinds) == 0 {
		return errors.New("its Principal is empty")
	}
	for name, values := range kinds {
		switch name {
		case "AWS":
			p.aws = values
			p.any = p.any || slices.Contains(values, "*")
		case "Service":
			p.service = values
		case "Federated":
			p.federated = values
		default:
			return fmt.Errorf("principal type %q is not one of AWS, Service, Federated", name)
		}
	}
	return nil
}
