package awssim

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

// family is how a service's requests and answers are written.
type family int

const (
	ec2Query family = iota // form in, XML out
	awsQuery               // form in, XML with a result element out
	awsJSON                // X-Amz-Target and JSON in, JSON out
	restJSON               // path and JSON in, JSON out
)

// protocol is how one service speaks.
type protocol struct {
	family
	namespace   string // of XML answers
	contentType string // of JSON answers
	// messageKey is the member of a JSON error that has its text.
	messageKey string
	// global services are signed for the region us-east-1 as well.
	global bool
}

// protocols are the services by the name that signatures carry.
func protocols() map[string]protocol {
	const json10, json11 = "application/x-amz-json-1.0", "application/x-amz-json-1.1"
	return map[string]protocol{
		"ec2":     {family: ec2Query, namespace: "http://ec2.amazonaws.com/doc/2016-11-15/"},
		"iam":     {family: awsQuery, namespace: "https://iam.amazonaws.com/doc/2010-05-08/", global: true},
		"sts":     {family: awsQuery, namespace: "https://sts.amazonaws.com/doc/2011-06-15/", global: true},
		"sqs":     {family: awsJSON, contentType: json10, messageKey: "message"},
		"events":  {family: awsJSON, contentType: json11, messageKey: "message"},
		"ssm":     {family: awsJSON, contentType: json11, messageKey: "message"},
		"pricing": {family: awsJSON, contentType: json11, messageKey: "Message", global: true},
		"eks":     {family: restJSON, contentType: "application/json", messageKey: "message"},
	}
}

// unsignedProtocol is how an unsigned request is refused: no signature names
// its service, but its shape tells the family.
func unsignedProtocol(r *http.Request, form url.Values) protocol {
	name := "sts"
	switch {
	case r.Header.Get("X-Amz-Target") != "":
		name = "ssm"
	case r.URL.Path != "/":
		name = "eks"
	case form.Get("Version") == "2016-11-15":
		name = "ec2"
	}
	return protocols()[name]
}

// globalRegions are where the global services may be addressed besides the
// region of the laboratory: the Price List has three endpoints of its own.
func globalRegions() []string { return []string{"us-east-1", "eu-central-1", "ap-south-1"} }

// router is a REST service: it names the action of a method and path.
type router interface {
	Route(method, path string) string
}

// actionOf names the action of a request; "" where it cannot be told.
func (p protocol) actionOf(target string, form url.Values, service wire.Service, method, path string) string {
	switch p.family {
	case awsJSON:
		_, action, _ := strings.Cut(target, ".")
		return action
	case restJSON:
		if r, ok := service.(router); ok {
			return r.Route(method, path)
		}
		return ""
	default:
		return form.Get("Action")
	}
}

// refusals are the error codes by which a family refuses a signature.
type refusals struct {
	missing, unknownKey, mismatch, expiredKey, skew string
	status                                          int
}

func (p protocol) refusals() refusals {
	switch p.family {
	case ec2Query:
		return refusals{"MissingAuthenticationToken", "AuthFailure", "AuthFailure", "RequestExpired", "RequestExpired", 401}
	case awsQuery:
		return refusals{"MissingAuthenticationToken", "InvalidClientTokenId", "SignatureDoesNotMatch", "ExpiredToken", "SignatureDoesNotMatch", 403}
	case restJSON:
		return refusals{"MissingAuthenticationTokenException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "InvalidSignatureException", 403}
	default:
		return refusals{"MissingAuthenticationTokenException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "InvalidSignatureException", 400}
	}
}

// sqsShapes gives the JSON error type of SQS for the codes of its older
// protocol, which SDKs report (header x-amzn-query-error).
func sqsShapes() map[string]string {
	return map[string]string{
		"AWS.SimpleQueueService.NonExistentQueue":             "QueueDoesNotExist",
		"AWS.SimpleQueueService.EmptyBatchRequest":            "EmptyBatchRequest",
		"AWS.SimpleQueueService.TooManyEntriesInBatchRequest": "TooManyEntriesInBatchRequest",
		"AWS.SimpleQueueService.BatchEntryIdsNotDistinct":     "BatchEntryIdsNotDistinct",
		"AWS.SimpleQueueService.InvalidBatchEntryId":          "InvalidBatchEntryId",
		"QueueAlreadyExists":                                  "QueueNameExists",
	}
}
