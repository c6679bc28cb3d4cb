package awsspec

import (
	"strings"
	"testing"
)

const (
	admitsIssuer  = "oidc.eks.us-west-2.amazonaws.com/id/ABC"
	admitsOIDC    = "arn:aws:iam::123456789012:oidc-provider/" + admitsIssuer
	admitsCluster = "arn:aws:eks:us-west-2:123456789012:cluster/lab"
)

func trustOf(statements ...string) string {
	return `{"Version":"2012-10-17","Statement":[` + strings.Join(statements, ",") + `]}`
}

// byToken is a statement for tokens of the issuer, under the condition.
func byToken(effect, condition string) string {
	text := `{"Effect":"` + effect + `","Principal":{"Federated":"` + admitsOIDC + `"},"Action":"sts:AssumeRoleWithWebIdentity","Condition":` + condition + `}`
	return strings.ReplaceAll(text, "ISSUER", admitsIssuer)
}

func wantRefusal(t *testing.T, got, part string) {
	t.Helper()
	if (part == "") != (got == "") || !strings.Contains(got, part) {
		t.Errorf("refusal %q, want one with %q", got, part)
	}
}

func TestRefusal_OfATokenIsCertain(t *testing.T) {
	const none, subject = "no statement admits sts:AssumeRoleWithWebIdentity by " + admitsOIDC, "system:serviceaccount:karpenter:karpenter"
	session := IRSASession(admitsIssuer, "123456789012", "aws", "karpenter", "karpenter", IRSAAudience)
	sub := func(operator, values string) string {
		return trustOf(byToken("Allow", `{"`+operator+`":{"ISSUER:sub":`+values+`}}`))
	}
	is := func(principal, action string) string {
		return trustOf(`{"Effect":"Allow","Principal":` + principal + `,` + action + `}`)
	}
	wrong := byToken("Allow", `{"StringEquals":{"ISSUER:sub":"system:serviceaccount:a:b"}}`)
	for name, tt := range map[string]struct{ trust, refused string }{
		"exact":                   {IRSATrust(admitsIssuer, "123456789012", "aws", "karpenter", "karpenter"), ""},
		"one statement, no list":  {`{"Statement":` + byToken("Allow", `{"StringEquals":{"ISSUER:sub":"`+subject+`"}}`) + `}`, ""},
		"list":                    {sub("StringEquals", `["system:serviceaccount:a:b","`+subject+`"]`), ""},
		"wildcard":                {sub("StringLike", `"system:serviceaccount:karp*:karpente?"`), ""},
		"wildcard, not like":      {sub("StringEquals", `"system:serviceaccount:karpenter:*"`), `StringEquals of "` + admitsIssuer + `:sub" admits ["system:serviceaccount:karpenter:*"] and not ["` + subject + `"]`},
		"wildcard of others":      {sub("StringLike", `"system:serviceaccount:other:*"`), "and not"},
		"a dot is no wildcard":    {sub("StringLike", `"system.serviceaccount:karpenter:karpenter"`), "and not"},
		"wrong namespace":         {IRSATrust(admitsIssuer, "123456789012", "aws", "other", "karpenter"), "system:serviceaccount:other:karpenter"},
		"wrong audience":          {trustOf(byToken("Allow", `{"StringEquals":{"ISSUER:aud":"other","ISSUER:sub":"`+subject+`"}}`)), ":aud"},
		"no condition":            {trustOf(byToken("Allow", `{}`)), ""},
		"wrong issuer":            {IRSATrust("oidc.eks.us-west-2.amazonaws.com/id/XYZ", "123456789012", "aws", "karpenter", "karpenter"), none},
		"wrong account":           {IRSATrust(admitsIssuer, "210987654321", "aws", "karpenter", "karpenter"), none},
		"Pod Identity":            {PodIdentityTrust(admitsCluster, "karpenter", "karpenter"), none},
		"two, one admits":         {trustOf(wrong, byToken("Allow", `{"StringEquals":{"ISSUER:sub":"`+subject+`"}}`)), ""},
		"two, none admits":        {trustOf(wrong, wrong), "system:serviceaccount:a:b"},
		"denied":                  {trustOf(byToken("Allow", `{}`), byToken("Deny", `{"StringEquals":{"ISSUER:sub":"`+subject+`"}}`)), "a statement denies"},
		"another is denied":       {trustOf(byToken("Allow", `{}`), byToken("Deny", `{"StringEquals":{"ISSUER:sub":"x"}}`)), ""},
		"denied, perhaps":         {trustOf(byToken("Allow", `{}`), byToken("Deny", `{"StringNotEquals":{"ISSUER:sub":"x"}}`)), ""},
		"unknown operator":        {sub("StringEqualsIfExists", `"x"`), ""},
		"unknown key":             {trustOf(byToken("Allow", `{"StringEquals":{"aws:SourceIp":"x"}}`)), ""},
		"unknown key, and wrong":  {trustOf(byToken("Allow", `{"StringEquals":{"aws:SourceIp":"x","ISSUER:sub":"x"}}`)), "and not"},
		"case of a key":           {trustOf(byToken("Allow", `{"StringEquals":{"`+strings.ToUpper(admitsIssuer)+`:SUB":"x"}}`)), "and not"},
		"variable":                {sub("StringEquals", `"${aws:username}"`), ""},
		"everybody":               {is(`"*"`, `"Action":"sts:AssumeRoleWithWebIdentity"`), ""},
		"all but some principals": {strings.Replace(is(`{"AWS":"x"}`, `"Action":"sts:*"`), `"Principal"`, `"NotPrincipal"`, 1), ""},
		"all but some actions":    {is(`{"Federated":"`+admitsOIDC+`"}`, `"NotAction":"sts:TagSession"`), ""},
		"all actions":             {is(`{"Federated":["x","`+admitsOIDC+`"]}`, `"Action":["sts:Assume*"]`), ""},
		"another action":          {is(`{"Federated":"`+admitsOIDC+`"}`, `"Action":"sts:AssumeRole"`), none},
		"nobody":                  {trustOf(), none},
		"not a policy":            {"<html>", ""},
		"not a condition":         {trustOf(byToken("Allow", `"x"`)), ""},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, Refusal(tt.trust, session), tt.refused) })
	}
}

func TestRefusal_OfASessionOfPodIdentityIsCertain(t *testing.T) {
	tagged := PodIdentitySession(admitsCluster, "karpenter", "karpenter", false)
	open := trustOf(`{"Effect":"Allow","Principal":{"Service":"pods.eks.amazonaws.com"},"Action":["sts:AssumeRole","sts:TagSession"]}`)
	for name, tt := range map[string]struct {
		trust, refused string
		session        Session
	}{
		"exact":                {PodIdentityTrust(admitsCluster, "karpenter", "karpenter"), "", tagged},
		"wrong cluster":        {PodIdentityTrust(admitsCluster+"2", "karpenter", "karpenter"), "eks-cluster-arn", tagged},
		"wrong namespace":      {PodIdentityTrust(admitsCluster, "other", "karpenter"), "kubernetes-namespace", tagged},
		"wrong account":        {PodIdentityTrust(admitsCluster, "karpenter", "other"), "kubernetes-service-account", tagged},
		"no condition":         {open, "", tagged},
		"no tags of sessions":  {strings.Replace(open, `,"sts:TagSession"`, "", 1), "no statement admits sts:TagSession by pods.eks.amazonaws.com", tagged},
		"IRSA":                 {IRSATrust(admitsIssuer, "123456789012", "aws", "karpenter", "karpenter"), "no statement admits sts:AssumeRole by pods.eks.amazonaws.com", tagged},
		"untagged":             {PodIdentityTrust(admitsCluster, "karpenter", "karpenter"), "eks-cluster-arn", PodIdentitySession(admitsCluster, "karpenter", "karpenter", true)},
		"untagged, none asked": {strings.Replace(open, `,"sts:TagSession"`, "", 1), "", PodIdentitySession(admitsCluster, "karpenter", "karpenter", true)},
	} {
		t.Run(name, func(t *testing.T) { wantRefusal(t, Refusal(tt.trust, tt.session), tt.refused) })
	}
}
