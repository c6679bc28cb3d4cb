// Package sigv4 checks AWS Signature Version 4 on received requests: in the
// Authorization header, and presigned in the query string. It owns the
// canonical form and the key derivation; which keys exist and what a refusal
// is called on the wire are the caller's business.
//
// Source of the rule: the IAM user guide, "Create a signed AWS API request".
package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	algorithm  = "AWS4-HMAC-SHA256"
	timeFormat = "20060102T150405Z"
)

// Signature is what a request says of its own signature, not yet verified.
type Signature struct {
	AccessKeyID   string
	SessionToken  string // empty for the keys of a user
	Date          string // yyyymmdd of the scope
	Region        string
	Service       string
	SignedHeaders []string // lower case, sorted
	Value         string   // hex
	Time          time.Time
	Presigned     bool
}

// Parse reads the signature of a request. It fails with ErrMissing where there
// is none, ErrIncomplete where a part is absent or malformed.
func Parse(r *http.Request) (*Signature, error) {
	header := r.Header.Get("Authorization")
	query := r.URL.Query()
	switch {
	case header != "":
		return parseHeader(r, header)
	case query.Get("X-Amz-Algorithm") != "":
		return parseQuery(query)
	}
	return nil, ErrMissing
}

func parseHeader(r *http.Request, header string) (*Signature, error) {
	fields, ok := strings.CutPrefix(header, algorithm+" ")
	if !ok {
		return nil, ErrIncomplete
	}
	parts := map[string]string{}
	for field := range strings.SplitSeq(fields, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		parts[name] = value
	}
	s := &Signature{Value: parts["Signature"], SessionToken: r.Header.Get("X-Amz-Security-Token")}
	return s, s.fill(parts["Credential"], parts["SignedHeaders"], r.Header.Get("X-Amz-Date"))
}

func parseQuery(query url.Values) (*Signature, error) {
	if query.Get("X-Amz-Algorithm") != algorithm {
		return nil, ErrIncomplete
	}
	s := &Signature{Value: query.Get("X-Amz-Signature"), SessionToken: query.Get("X-Amz-Security-Token"), Presigned: true}
	return s, s.fill(query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Date"))
}

func (s *Signature) fill(credential, signedHeaders, date string) error {
	scope := strings.Split(credential, "/")
	if len(scope) != 5 || scope[4] != "aws4_request" || s.Value == "" {
		return ErrIncomplete
	}
	s.AccessKeyID, s.Date, s.Region, s.Service = scope[0], scope[1], scope[2], scope[3]
	s.SignedHeaders = strings.Split(signedHeaders, ";")
	at, err := time.Parse(timeFormat, date)
	if err != nil || !strings.HasPrefix(date, s.Date) {
		return ErrIncomplete
	}
	s.Time = at
	// The host must be signed, or the signature could be used elsewhere.
	if !slices.Contains(s.SignedHeaders, "host") {
		return ErrIncomplete
	}
	return nil
}

// Verify checks the signature over request and body with the secret of the
// access key; ErrMismatch where it does not fit, ErrBody where the body is not
// the one whose hash was signed.
func (s *Signature) Verify(r *http.Request, body []byte, secret string) error {
	sum := sha256.Sum256(body)
	payload := hex.EncodeToString(sum[:])
	if declared := r.Header.Get("X-Amz-Content-Sha256"); declared != "" {
		if declared != payload && declared != "UNSIGNED-PAYLOAD" {
			return ErrBody
		}
		payload = declared
	}
	canonical := strings.Join([]string{
		r.Method, canonicalPath(r), canonicalQuery(r), s.canonicalHeaders(r), strings.Join(s.SignedHeaders, ";"), payload,
	}, "\n")
	sum = sha256.Sum256([]byte(canonical))
	scope := strings.Join([]string{s.Date, s.Region, s.Service, "aws4_request"}, "/")
	toSign := strings.Join([]string{algorithm, s.Time.Format(timeFormat), scope, hex.EncodeToString(sum[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range []string{s.Date, s.Region, s.Service, "aws4_request", toSign} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	if !hmac.Equal([]byte(hex.EncodeToString(key)), []byte(s.Value)) {
		return ErrMismatch
	}
	return nil
}

// canonicalPath encodes the path as received once more, as every service but
// S3 wants it.
func canonicalPath(r *http.Request) string {
	path := r.URL.EscapedPath()
	if path == "" {
		return "/"
	}
	return encode(path, true)
}

func canonicalQuery(r *http.Request) string {
	var pairs []string
	for name, values := range r.URL.Query() {
		if name == "X-Amz-Signature" {
			continue
		}
		for _, value := range values {
			pairs = append(pairs, encode(name, false)+"="+encode(value, false))
		}
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "&")
}

func (s *Signature) canonicalHeaders(r *http.Request) string {
	var out strings.Builder
	for _, name := range s.SignedHeaders {
		values := r.Header.Values(name)
		switch {
		case name == "host":
			values = []string{r.Host}
		case name == "content-length" && len(values) == 0:
			values = []string{strconv.FormatInt(r.ContentLength, 10)}
		}
		trimmed := make([]string, len(values))
		for i, v := range values {
			trimmed[i] = strings.Join(strings.Fields(v), " ")
		}
		out.WriteString(name + ":" + strings.Join(trimmed, ",") + "\n")
	}
	return out.String()
}

// encode is AWS's percent encoding: everything but unreserved characters.
func encode(text string, keepSlash bool) string {
	const hexDigits = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9',
			c == '-', c == '_', c == '.', c == '~', c == '/' && keepSlash:
			out.WriteByte(c)
		default:
			out.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return out.String()
}
