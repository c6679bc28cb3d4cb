// Package validate owns the offline checks of single attribute values: names,
// ARNs, quantities, durations, label keys and values. Every check is a function
// of the value alone. Unknown and null values pass. Messages say what is wrong and
// what to write instead.
package validate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// check is a string validator made of a function that says what is wrong.
type check struct {
	description string
	test        func(string) error
}

// Description says what is accepted.
func (c check) Description(context.Context) string { return c.description }

// MarkdownDescription says what is accepted.
func (c check) MarkdownDescription(context.Context) string { return c.description }

// ValidateString runs the check on a known value.
func (c check) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if err := c.test(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.AddAttributeError(req.Path, "Invalid value", fmt.Sprintf("%s: %v.", req.Path, err))
	}
}

// pattern accepts what the expression matches. A schema is made anew for each server, and most
// of its attributes are not set.
func pattern(description, expression string) check {
	re := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
	return check{description: description, test: func(s string) error {
		if !re().MatchString(s) {
			return fmt.Errorf("%q is not valid: %s", s, description)
		}
		return nil
	}}
}

// Is accepts the values for which test returns no error. The rules of a name are in
// the package of the object that has the name.
func Is(test func(string) error) validator.String {
	return check{description: "a valid name", test: test}
}

// IAMPath accepts IAM paths: "/" or "/team/".
func IAMPath() validator.String {
	return pattern("a path must begin and end with /, such as /team/", `^/([!-~]+/)?$`)
}

// ARN accepts ARNs of one service and resource prefix, such as iam and role/.
func ARN(service, prefix string) validator.String {
	return pattern(fmt.Sprintf("write an ARN like arn:aws:%s:...:%s...", service, prefix),
		fmt.Sprintf(`^arn:aws[a-z-]*:%s:[a-z0-9-]*:([0-9]{12}|aws)?:%s.+$`, service, regexp.QuoteMeta(prefix)))
}

// ID accepts AWS ids with the prefix, such as subnet.
func ID(prefix string) validator.String {
	return pattern(fmt.Sprintf("write an id like %s-0123456789abcdef0", prefix), fmt.Sprintf(`^%s-[0-9a-z]+$`, prefix))
}

// AccountID accepts AWS account ids.
func AccountID() validator.String {
	return pattern("an AWS account id has twelve digits, such as 123456789012", `^[0-9]{12}$`)
}

// SessionName accepts names of sessions and source identities, by the API reference of
// STS AssumeRole.
func SessionName() validator.String {
	return pattern("write 2 to 64 letters, digits and characters of =,.@_-+", `^[\w+=,.@-]{2,64}$`)
}

// URL accepts URLs with one of the schemes and a host.
func URL(schemes ...string) validator.String { return urlOf(schemes) }

func urlOf(schemes []string) check {
	example := schemes[0] + "://example.com:8080"
	return check{description: "a URL such as " + example, test: func(s string) error {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
			return fmt.Errorf("%q is not a URL with one of the schemes %s: write one such as %s", s, strings.Join(schemes, ", "), example)
		}
		return nil
	}}
}

// URLOrNothing accepts what URL accepts, and the empty string.
func URLOrNothing(schemes ...string) validator.String {
	strict := urlOf(schemes)
	return check{description: strict.description + ", or nothing", test: func(s string) error {
		if s == "" {
			return nil
		}
		return strict.test(s)
	}}
}

// JSON accepts JSON objects.
func JSON() validator.String {
	return check{description: "a JSON object", test: func(s string) error {
		var object map[string]any
		if err := json.Unmarshal([]byte(s), &object); err != nil {
			return fmt.Errorf("the text is not a JSON object (%w): write it with jsonencode", err)
		}
		return nil
	}}
}

// DurationBetween accepts durations within limits, which both are in.
func DurationBetween(least, most time.Duration) validator.String {
	return check{description: "a duration", test: func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < least || d > most {
			return fmt.Errorf("%q is not a duration from %s to %s: write one such as 30m", s, short(least), short(most))
		}
		return nil
	}}
}

// short writes 12h where time.Duration writes 12h0m0s.
func short(d time.Duration) string {
	return strings.Replace(strings.Replace(d.String(), "m0s", "m", 1), "h0m", "h", 1)
}

// ObjectName accepts names of Kubernetes objects (DNS-1123 subdomains).
func ObjectName() validator.String {
	return check{description: "a Kubernetes object name", test: func(s string) error {
		return joined(s, validation.IsDNS1123Subdomain(s))
	}}
}

// Namespace accepts names of namespaces and service accounts (DNS-1123 labels).
func Namespace() validator.String {
	return check{description: "a Kubernetes namespace name", test: func(s string) error {
		return joined(s, validation.IsDNS1123Label(s))
	}}
}

// LabelKey accepts keys of labels and taints.
func LabelKey() validator.String {
	return check{description: "a label key", test: func(s string) error {
		return joined(s, validation.IsQualifiedName(s))
	}}
}

// AnnotationKey accepts keys of annotations, whose prefix may have capital letters.
func AnnotationKey() validator.String {
	return check{description: "a key of an annotation", test: func(s string) error {
		return joined(s, validation.IsQualifiedName(strings.ToLower(s)))
	}}
}

// LabelValue accepts values of labels and taints.
func LabelValue() validator.String {
	return check{description: "a label value", test: func(s string) error {
		return joined(s, validation.IsValidLabelValue(s))
	}}
}

// Quantity accepts Kubernetes quantities that are not negative.
func Quantity() validator.String {
	return check{description: "a Kubernetes quantity, such as 100, 500m or 64Gi", test: func(s string) error {
		q, err := resource.ParseQuantity(s)
		if err != nil {
			return fmt.Errorf("%q is not a quantity: write one such as 100, 500m or 64Gi", s)
		}
		if q.Sign() < 0 {
			return fmt.Errorf("%q is negative: write 0 or more", s)
		}
		return nil
	}}
}

// Quantities accepts maps of quantities.
func Quantities() validator.Map {
	return mapvalidator.ValueStringsAre(Quantity())
}

// durationForm is the pattern of Karpenter's CRDs: whole hours, minutes and seconds.
var durationForm = regexp.MustCompile(`^([0-9]+(s|m|h))+$`)

// Duration accepts durations of whole hours, minutes and seconds, and the given
// words, such as Never.
func Duration(words ...string) validator.String {
	examples := strings.Join(append([]string{"30s", "1h30m"}, words...), ", ")
	return check{description: "a duration: " + examples, test: func(s string) error {
		for _, word := range words {
			if s == word {
				return nil
			}
		}
		if !durationForm.MatchString(s) {
			return fmt.Errorf("%q is not a duration in hours, minutes and seconds: write one such as %s", s, examples)
		}
		if _, err := time.ParseDuration(s); err != nil {
			return fmt.Errorf("%q is too long for a duration: write a shorter one", s)
		}
		return nil
	}}
}

func joined(value string, problems []string) error {
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("%q is not valid: %s", value, strings.TrimSuffix(problems[0], "."))
}
