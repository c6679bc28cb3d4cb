package stssim

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/iamsim"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// webToken is a verified OIDC token.
type webToken struct {
	provider iamsim.OIDCProvider
	subject  string
	audience string // the one that the provider accepts
}

type claims struct {
	Issuer    string          `json:"iss"`
	Subject   string          `json:"sub"`
	Audience  json.RawMessage `json:"aud"`
	Expires   float64         `json:"exp"`
	NotBefore float64         `json:"nbf"`
	Pod       podClaims       `json:"kubernetes.io"`
}

// podClaims say in whose pod a service account's token is.
type podClaims struct {
	Namespace string `json:"namespace"`
	Pod       struct {
		Name string `json:"name"`
		UID  string `json:"uid"`
	} `json:"pod"`
	ServiceAccount struct {
		Name string `json:"name"`
	} `json:"serviceaccount"`
}

func (c claims) audiences() []string {
	var many []string
	if json.Unmarshal(c.Audience, &many) == nil {
		return many
	}
	var one string
	if json.Unmarshal(c.Audience, &one) == nil {
		return []string{one}
	}
	return nil
}

// verifyToken checks a token as STS does: a registered issuer, an audience
// that the provider lists, the signature by the issuer's published keys, and
// the times.
func (s *Service) verifyToken(ctx context.Context, raw string, now time.Time) (webToken, error) {
	var provider iamsim.OIDCProvider
	c, audience, err := s.verifyClaims(ctx, raw, now, func(issuer string) ([]string, error) {
		var ok bool
		if provider, ok = s.IAM.OIDCProvider(issuer); !ok {
			return nil, wire.Errorf("InvalidIdentityToken", "No OpenIDConnect provider found in your account for %s", issuer)
		}
		return provider.ClientIDs, nil
	})
	return webToken{provider, c.Subject, audience}, err
}

// verifyClaims checks a token and gives its claims and the audience that is accepted.
// audiences are those that are accepted from an issuer.
func (s *Service) verifyClaims(ctx context.Context, raw string, now time.Time, audiences func(issuer string) ([]string, error)) (c claims, audience string, err error) {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return c, "", wire.Errorf("InvalidIdentityToken", "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	}
	var header struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
	}
	if decodePart(parts[0], &header) != nil || decodePart(parts[1], &c) != nil {
		return c, "", wire.Errorf("InvalidIdentityToken", "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	}
	accepted, err := audiences(c.Issuer)
	if err != nil {
		return c, "", err
	}
	if header.Algorithm != "RS256" {
		return c, "", wire.Errorf("InvalidIdentityToken", "Token signing algorithm %s is not simulated, only RS256", header.Algorithm)
	}
	at := slices.IndexFunc(c.audiences(), func(a string) bool { return slices.Contains(accepted, a) })
	if at < 0 {
		return c, "", wire.Errorf("InvalidIdentityToken", "Incorrect token audience")
	}
	if err := s.verifySignature(ctx, header.KeyID, parts); err != nil {
		return c, "", err
	}
	expires := time.Unix(int64(c.Expires), 0)
	if !now.Before(expires) {
		return c, "", wire.Errorf("ExpiredTokenException", "Token expired: current date/time %d must be before the expiration date/time %d", now.Unix(), expires.Unix())
	}
	// A minute of grace, for clocks that differ.
	if time.Unix(int64(c.NotBefore), 0).After(now.Add(time.Minute)) {
		return c, "", wire.Errorf("InvalidIdentityToken", "Token is not yet valid")
	}
	if c.Subject == "" {
		return c, "", wire.Errorf("InvalidIdentityToken", "Missing a required claim: sub")
	}
	return c, c.audiences()[at], nil
}

func (s *Service) verifySignature(ctx context.Context, keyID string, parts []string) error {
	noKey := wire.Errorf("InvalidIdentityToken", "Couldn't retrieve verification key from your identity provider, please reference AssumeRoleWithWebIdentity documentation for requirements")
	if s.JWKS == nil {
		return noKey
	}
	published, err := s.JWKS(ctx)
	if err != nil {
		return noKey
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return wire.Errorf("InvalidIdentityToken", "The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	for _, key := range rsaKeys(published, keyID) {
		if rsa.VerifyPKCS1v15(key, crypto.SHA256, digest[:], signature) == nil {
			return nil
		}
	}
	return noKey
}

// rsaKeys reads the RSA keys of a JWKS that have the id, or all where the token names none.
func rsaKeys(published []byte, keyID string) []*rsa.PublicKey {
	var set struct {
		Keys []struct {
			Type     string `json:"kty"`
			ID       string `json:"kid"`
			Modulus  string `json:"n"`
			Exponent string `json:"e"`
		} `json:"keys"`
	}
	if json.Unmarshal(published, &set) != nil {
		return nil
	}
	var out []*rsa.PublicKey
	for _, k := range set.Keys {
		n, errN := base64.RawURLEncoding.DecodeString(k.Modulus)
		e, errE := base64.RawURLEncoding.DecodeString(k.Exponent)
		if k.Type != "RSA" || keyID != "" && k.ID != keyID || errN != nil || errE != nil {
			continue
		}
		out = append(out, &rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())})
	}
	return out
}

func decodePart(part string, out any) error {
	data, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}
