package iamsim

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/policy"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// list is a list in an answer that is written also when it is empty, as IAM does.
type list[T any] struct {
	Member []T `xml:"member"`
}

// tag is one tag in an answer.
type tag struct {
	Key   string
	Value string
}

const (
	maxTags     = 50
	maxRoleName = 64
	maxName     = 128
)

// required reads a parameter that must be there.
func required(form url.Values, name string) (string, error) {
	if v := form.Get(name); v != "" {
		return v, nil
	}
	return "", wire.Errorf("ValidationError",
		"1 validation error detected: Value null at '%s' failed to satisfy constraint: Member must not be null", lowerFirst(name))
}

// entityName reads a name parameter and checks IAM's pattern and length.
func entityName(form url.Values, parameter string, maxLen int) (string, error) {
	name, err := required(form, parameter)
	if err != nil {
		return "", err
	}
	const pattern = `[\w+=,.@-]+`
	if !regexp.MustCompile(`^` + pattern + `$`).MatchString(name) {
		return "", wire.Errorf("ValidationError", "The specified value for %s is invalid. It must contain only alphanumeric characters and/or the following: +=,.@_-",
			lowerFirst(parameter))
	}
	if len(name) > maxLen {
		return "", wire.Errorf("ValidationError",
			"1 validation error detected: Value at '%s' failed to satisfy constraint: Member must have length less than or equal to %d", lowerFirst(parameter), maxLen)
	}
	return name, nil
}

// entityPath reads Path; the default is "/".
func entityPath(form url.Values) (string, error) {
	path := form.Get("Path")
	if path == "" || path == "/" {
		return "/", nil
	}
	if len(path) > 512 || !regexp.MustCompile(`^/[\x21-\x7e]+/$`).MatchString(path) {
		return "", wire.Errorf("ValidationError", "The specified value for path is invalid. It must begin and end with / and contain only alphanumeric characters and/or / characters.")
	}
	return path, nil
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// members reads Name.member.1, Name.member.2 ...
func members(form url.Values, name string) []string {
	var out []string
	for i := 1; ; i++ {
		v, ok := form[name+".member."+strconv.Itoa(i)]
		if !ok {
			return out
		}
		out = append(out, v[0])
	}
}

// formTags reads Tags.member.N.Key and .Value.
func formTags(form url.Values) (map[string]string, error) {
	tags := map[string]string{}
	for i := 1; ; i++ {
		prefix := fmt.Sprintf("Tags.member.%d.", i)
		key, ok := form[prefix+"Key"]
		if !ok {
			break
		}
		if _, twice := tags[key[0]]; twice {
			return nil, wire.Errorf("InvalidInput", "Duplicate tag keys found. Please note that Tag keys are case insensitive.")
		}
		if len(key[0]) == 0 || len(key[0]) > 128 || len(form.Get(prefix+"Value")) > 256 || strings.HasPrefix(strings.ToLower(key[0]), "aws:") {
			return nil, wire.Errorf("InvalidInput", "tag %q: a key has 1 to 128 characters and does not start with aws:, a value has at most 256", key[0])
		}
		tags[key[0]] = form.Get(prefix + "Value")
	}
	if len(tags) > maxTags {
		return nil, limitExceeded("Cannot exceed quota for TagsPerResource: %d", maxTags)
	}
	return tags, nil
}

// mergeTags adds tags to those that a thing has.
func mergeTags(have, more map[string]string) (map[string]string, error) {
	out := maps.Clone(have)
	maps.Copy(out, more)
	if len(out) > maxTags {
		return nil, limitExceeded("Cannot exceed quota for TagsPerResource: %d", maxTags)
	}
	return out, nil
}

func tagList(tags map[string]string) *list[tag] {
	out := &list[tag]{}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out.Member = append(out.Member, tag{k, tags[k]})
	}
	return out
}

// page cuts sorted items by Marker (the name of the last one given) and
// MaxItems; it reports the next marker, empty at the end.
func page[T any](form url.Values, items []T, name func(T) string) (out []T, next string, err error) {
	limit := 100
	if text := form.Get("MaxItems"); text != "" {
		limit, err = strconv.Atoi(text)
		if err != nil || limit < 1 || limit > 1000 {
			return nil, "", wire.Errorf("ValidationError", "MaxItems %q is not a number from 1 to 1000", text)
		}
	}
	out, next = wire.Page(items, name, form.Get("Marker"), limit)
	return out, next, nil
}

// paging is the end of every list answer.
type paging struct {
	IsTruncated bool
	Marker      string `xml:",omitempty"`
}

// parsePolicy reads a document, or answers MalformedPolicyDocument.
func parsePolicy(text string, kind policy.Kind) (*policy.Document, error) {
	doc, err := policy.Parse(text, kind)
	if errors.Is(err, policy.ErrMalformed) {
		return nil, wire.Errorf("MalformedPolicyDocument", "%v", err)
	}
	return doc, err
}

// encodeDocument writes a document as IAM answers do: percent encoded.
func encodeDocument(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

// policySize counts as IAM does: without white space.
func policySize(text string) int { return len(strings.Join(strings.Fields(text), "")) }
