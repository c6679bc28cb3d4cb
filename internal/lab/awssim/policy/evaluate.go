package policy

import "strings"

// Request is one question: may this caller do Action on Resource?
type Request struct {
	Action   string
	Resource string              // an ARN, or "*" where the action knows no resource
	Keys     map[string][]string // condition keys; names are compared in lower case, so give them so
	Caller   Caller              // read by documents with a Principal
}

// Caller is who asks, in the ways that a Principal element can name it.
type Caller struct {
	Account   string   // twelve digits; its root as principal delegates to the caller's own policies
	ARNs      []string // the user or role, and the session
	Service   string   // e.g. events.amazonaws.com
	Federated string   // ARN of the OIDC provider
}

// Decision is what one document says.
type Decision int

const (
	None      Decision = iota // nothing matches: an implicit deny
	Delegated                 // the account is named: the caller's own policies must allow
	Allow
	Deny
)

// String names the decision for test output.
func (d Decision) String() string { return [...]string{"none", "delegated", "allow", "deny"}[d] }

// Evaluate says what the documents say together: a deny anywhere wins, then an
// allow, then a delegation.
func Evaluate(r Request, docs ...*Document) Decision {
	best := None
	for _, d := range docs {
		if d == nil {
			continue
		}
		for i := range d.statements {
			best = max(best, d.statements[i].evaluate(&r))
		}
	}
	return best
}

func (s *statement) evaluate(r *Request) Decision {
	if !s.matchesAction(r) || !s.matchesResource(r) {
		return None
	}
	verdict := Allow
	if s.principals != nil {
		verdict = s.principals.match(r.Caller)
		if verdict == None {
			return None
		}
	}
	for _, c := range s.conditions {
		if !c.holds(r) {
			return None
		}
	}
	if s.deny {
		return Deny
	}
	return verdict
}

func (s *statement) matchesAction(r *Request) bool {
	action := strings.ToLower(r.Action)
	for _, pattern := range s.actions {
		if glob(pattern, action) {
			return !s.notActions
		}
	}
	return s.notActions
}

func (s *statement) matchesResource(r *Request) bool {
	if s.anyResource {
		return true
	}
	for _, pattern := range s.resources {
		text, ok := r.expand(pattern)
		if ok && arnMatch(text, r.Resource) {
			return !s.notResource
		}
	}
	return s.notResource
}

// match says Allow for a caller that is named itself, Delegated for one whose
// account is, None for a stranger.
func (p *principals) match(c Caller) Decision {
	found := p.find(c)
	if p.not {
		if found == None {
			return Allow
		}
		return None
	}
	return found
}

func (p *principals) find(c Caller) Decision {
	if c.Service != "" {
		if p.any || contains(p.service, c.Service) {
			return Allow
		}
		return None
	}
	if c.Federated != "" {
		if contains(p.federated, c.Federated) {
			return Allow
		}
		return None
	}
	if p.any {
		return Allow
	}
	found := None
	for _, name := range p.aws {
		if contains(c.ARNs, name) {
			return Allow
		}
		if name == c.Account || strings.HasSuffix(name, "::"+c.Account+":root") {
			found = Delegated
		}
	}
	return found
}

func contains(list []string, value string) bool {
	for _, v := range list {
		if v == value {
			return true
		}
	}
	return false
}

// key finds a condition key; a key with no values counts as absent.
func (r *Request) key(name string) ([]string, bool) {
	values := r.Keys[name]
	return values, len(values) > 0
}

// expand replaces policy variables such as ${aws:username}; a variable that
// has not exactly one value makes the pattern match nothing, as in IAM.
func (r *Request) expand(pattern string) (string, bool) {
	if !strings.Contains(pattern, "${") {
		return pattern, true
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(pattern, "${")
		out.WriteString(before)
		if !found {
			return out.String(), true
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", false
		}
		name, fallback, hasDefault := strings.Cut(name, ",")
		values, ok := r.key(strings.ToLower(strings.TrimSpace(name)))
		switch {
		case ok && len(values) == 1:
			out.WriteString(values[0])
		case !ok && hasDefault:
			out.WriteString(strings.Trim(strings.TrimSpace(fallback), "'"))
		default:
			return "", false
		}
		pattern = after
	}
}
