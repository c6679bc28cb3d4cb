// Package wire is what the simulated AWS services share: the request they are
// handed, the error they answer with, and who is asking. It owns no state.
//
// A service never sees HTTP, signatures or query strings in the raw: the front
// end (package awssim) authenticates the caller, names the action and hands
// over a Request; the service answers with a value that the front end writes
// in the protocol of that service (EC2 and Query XML, JSON 1.x, REST-JSON).
package wire

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// Identity is an authenticated caller.
type Identity struct {
	ARN       string // e.g. arn:aws:sts::123456789012:assumed-role/NodeRole/i-0abc
	Account   string // twelve digits
	UserID    string // AIDA... or AROA...:session
	Principal string // ARN of the user or role whose policies apply
	Service   string // set instead of a principal when an AWS service calls (e.g. events.amazonaws.com)
}

// Request is one call of one action, already authenticated.
type Request struct {
	Service  string     // ec2, iam, sts, sqs, ssm, eks, events, pricing
	Action   string     // e.g. CreateFleet
	Region   string     // the region of the signature
	Form     url.Values // EC2 and Query protocols
	Body     []byte     // JSON protocols
	Path     string     // REST-JSON: the path, escaped as received
	Method   string     // REST-JSON
	Query    url.Values // REST-JSON
	Identity Identity
	ID       string // request id of the answer
	Now      time.Time
}

// Resource is one object that a call touches, as IAM sees it.
type Resource struct {
	ARN  string            // "*" where the action knows no resource
	Tags map[string]string // tags that it has (aws:ResourceTag)
}

// Access is one question to IAM: may Identity do Action on every Resource?
type Access struct {
	Action     string              // e.g. ec2:CreateFleet
	Resources  []Resource          // every one must be allowed; none means "*"
	Conditions map[string][]string // further condition keys, e.g. aws:RequestTag/Name, aws:TagKeys, ec2:CreateAction
	Policy     string              // the resource's own policy document (a queue's); empty where it has none
}

// Authorizer answers Access questions. A refusal is an *Error with the code
// and text of the service that asks (UnauthorizedOperation for EC2,
// AccessDenied or AccessDeniedException elsewhere).
type Authorizer interface {
	Authorize(ctx context.Context, req *Request, access Access) error
}

// Error is an AWS error answer.
type Error struct {
	Code    string
	Message string
	Status  int  // HTTP status; 400 where zero
	Fault   bool // true: the server is at fault (Receiver), else Sender
}

// Error says code and message, as SDK logs do.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Errorf makes a client error (status 400).
func Errorf(code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Status: 400}
}

// Event is what a service puts on the default event bus of EventBridge.
type Event struct {
	Source     string // e.g. aws.ec2
	DetailType string
	Resources  []string
	Detail     any // marshalled as JSON
	Time       time.Time
}

// Service answers the actions of one AWS service. The answer is marshalled by
// the front end: an XML-taggable struct for ec2, iam and sts, a JSON-taggable
// struct for the rest; nil means an empty answer.
type Service interface {
	Serve(ctx context.Context, req *Request) (any, error)
	Actions() []string // that Serve knows, sorted
}
