package awsspec

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Session is a request for credentials of a role, as STS sees it.
type Session struct {
	Principal string              // who asks: the ARN of an OIDC provider, or a service
	Actions   []string            // the role must admit all of them
	Keys      map[string][]string // the condition keys of which the values are known, in lower case; no values: the request lacks the key
}

// IRSASession is the request of a pod of the service account with a token for the audience;
// the other arguments are as in IRSATrust.
func IRSASession(issuerHostPath, account, partition, namespace, serviceAccount, audience string) Session {
	issuer := strings.ToLower(issuerHostPath)
	return Session{
		Principal: OIDCProviderARN(issuerHostPath, account, partition), Actions: []string{assumeByIRSA},
		Keys: map[string][]string{issuer + ":aud": {audience}, issuer + ":sub": {subject(namespace, serviceAccount)}},
	}
}

// PodIdentitySession is the request of EKS for a pod of the service account. untagged says
// that the association leaves out the tags of the session.
func PodIdentitySession(clusterARN, namespace, serviceAccount string, untagged bool) Session {
	cluster, space, account := strings.ToLower(podClusterTag), strings.ToLower(podNamespaceTag), strings.ToLower(podAccountTag)
	s := Session{Principal: PodIdentityPrincipal, Actions: []string{assumeRole, tagSession}, Keys: map[string][]string{
		cluster: {clusterARN}, space: {namespace}, account: {serviceAccount},
	}}
	if untagged {
		s.Actions, s.Keys = s.Actions[:1], map[string][]string{cluster: nil, space: nil, account: nil}
	}
	return s
}

// Refusal says why the trust policy does not admit the session. It is "" if the policy admits
// the session, and also if that is not certain: the policy may be anybody's, and have elements
// that are not judged here. Source: IAM user guide, "Policy evaluation logic".
func Refusal(trust string, s Session) string {
	statements, err := trustStatements(trust)
	if err != nil {
		return ""
	}
	for _, action := range s.Actions {
		if why := s.refused(statements, action); why != "" {
			return why
		}
	}
	return ""
}

// trustStatement is a statement as others may write it: what is one value or a list is any.
type trustStatement struct {
	Effect                                     string
	Principal, NotPrincipal, Action, NotAction any
	Condition                                  map[string]map[string]any
}

func trustStatements(trust string) ([]trustStatement, error) {
	var many struct{ Statement []trustStatement }
	err := json.Unmarshal([]byte(trust), &many)
	if err == nil {
		return many.Statement, nil
	}
	var one struct{ Statement trustStatement }
	err = json.Unmarshal([]byte(trust), &one)
	return []trustStatement{one.Statement}, err
}

// answer says whether something holds. The lesser of two answers is that to both questions.
type answer int

const (
	no answer = iota
	perhaps
	yes
)

func (s Session) refused(statements []trustStatement, action string) string {
	why, admitted := fmt.Sprintf("no statement admits %s by %s", action, s.Principal), false
	for _, statement := range statements {
		applies := min(statement.names(s.Principal), statement.does(action))
		met, unmet := s.meets(statement.Condition)
		switch {
		case statement.Effect == "Deny":
			if min(applies, met) == yes {
				return fmt.Sprintf("a statement denies %s by %s", action, s.Principal)
			}
		case min(applies, met) != no:
			admitted = true
		case applies != no:
			why = unmet
		}
	}
	if admitted {
		return ""
	}
	return why
}

// names tells whether the statement is about the principal.
func (t trustStatement) names(principal string) answer {
	kinds, isMap := t.Principal.(map[string]any)
	if !isMap {
		return perhaps // everybody, or all but some
	}
	named := no
	for _, value := range kinds {
		for _, name := range words(value) {
			switch {
			case name == "*":
				named = max(named, perhaps)
			case strings.EqualFold(name, principal):
				named = yes
			}
		}
	}
	return named
}

func (t trustStatement) does(action string) answer {
	if t.NotAction != nil {
		return perhaps
	}
	return anyOf(words(t.Action), func(pattern string) bool { return like(strings.ToLower(pattern), strings.ToLower(action)) })
}

// meets tells whether the session meets all conditions, and which one it does not meet.
func (s Session) meets(conditions map[string]map[string]any) (met answer, unmet string) {
	met = yes
	for _, operator := range slices.Sorted(maps.Keys(conditions)) {
		for _, key := range slices.Sorted(maps.Keys(conditions[operator])) {
			values := words(conditions[operator][key])
			one := s.meetsOne(operator, key, values)
			if one == no && unmet == "" {
				unmet = fmt.Sprintf("%s of %q admits %q and not %q", operator, key, values, s.Keys[strings.ToLower(key)])
			}
			met = min(met, one)
		}
	}
	return met, unmet
}

func (s Session) meetsOne(operator, key string, values []string) answer {
	has, judged := s.Keys[strings.ToLower(key)]
	if !judged || slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, "${") }) {
		return perhaps
	}
	switch operator {
	case "StringEquals":
		return anyOf(values, func(v string) bool { return slices.Contains(has, v) })
	case "StringLike":
		return anyOf(values, func(v string) bool { return slices.ContainsFunc(has, func(is string) bool { return like(v, is) }) })
	}
	return perhaps
}

func anyOf(values []string, holds func(string) bool) answer {
	if slices.ContainsFunc(values, holds) {
		return yes
	}
	return no
}

// like tells whether the text matches a pattern in which * is any text and ? any character.
func like(pattern, text string) bool {
	expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile(`(?s)^` + expression + `$`).MatchString(text)
}

// words are the strings of an element that is one value or a list.
func words(element any) []string {
	switch value := element.(type) {
	case nil:
		return nil
	case []any:
		var all []string
		for _, v := range value {
			all = append(all, fmt.Sprint(v))
		}
		return all
	}
	return []string{fmt.Sprint(element)}
}
