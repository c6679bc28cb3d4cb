package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go"
)

var (
	// ErrNotFound says that the resource does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict says that a resource of that name exists already; it is left as it is.
	ErrConflict = errors.New("already exists")
	// ErrReplaced says that the resource of that name is not the one that the caller knows: somebody has deleted that resource and created another.
	ErrReplaced = errors.New("somebody has deleted it and created another of the same name")
	// ErrInUse says that a resource cannot be deleted because another one refers to it.
	ErrInUse = errors.New("still in use")
	// ErrUnauthorized says that the caller's policies do not allow the call. The error is an *UnauthorizedError, which has the action and the resource.
	ErrUnauthorized = errors.New("not authorized")
	// ErrCredentials says that AWS did not accept the credentials themselves, or that there are none.
	ErrCredentials = errors.New("credentials not accepted")
	// ErrThrottled says that AWS still throttled the call after the retries.
	ErrThrottled = errors.New("throttled")
	// ErrConcurrent says that somebody else was changing the resource at the same time, also after the retries.
	ErrConcurrent = errors.New("somebody else is changing it at the same time")
	// ErrInterrupted says that the call was given up, because the user interrupted the operation. It may have done its work.
	ErrInterrupted = errors.New("interrupted before AWS answered")
	// errNotShown says that a read does not show yet what was written.
	errNotShown = errors.New("the service does not show the change yet")
	// ErrUnreachable says that no connection to the endpoint could be made. Most often the region does not exist, or the endpoint is wrong.
	ErrUnreachable = errors.New("endpoint unreachable")
	// ErrNoEndpoint says that there is no FIPS or dual-stack endpoint of the service where it is called. It is an ErrUnreachable, too.
	ErrNoEndpoint = fmt.Errorf("%w: there is no such endpoint", ErrUnreachable)
	// ErrIdempotentParameterMismatch says that a client token was used before with other parameters.
	ErrIdempotentParameterMismatch = errors.New("client token was used before with other parameters")
	// ErrNothingLaunched says that EC2 answered a launch without an instance. EC2 gives
	// the same answer to the same client token, so the next attempt needs another token.
	ErrNothingLaunched = errors.New("no instance was launched")
	// ErrLaunchTemplateNotFound says that the launch template of a launch is gone: make it again with EnsureLaunchTemplate.
	ErrLaunchTemplateNotFound = fmt.Errorf("launch template %w", ErrNotFound)
	// ErrNoPriceList says that the Price List has no endpoint for the region, so that nobody can be asked for its on-demand prices.
	ErrNoPriceList = errors.New("the Price List has no endpoint for the region")
	// ErrUnread says that entries of an answer could not be read. The error is an *UnreadError, and comes with a result that has all other entries.
	ErrUnread = errors.New("entries were left out that cannot be read")
)

// UnreadError is an ErrUnread: what an answer lacks, as one entry that nobody can read does
// not make the others worthless.
type UnreadError struct {
	Count int   // how many entries were left out; at least one
	First error // what is wrong with the first of them, which it names
	what  string
}

func (e *UnreadError) Error() string {
	return fmt.Sprintf("%s: %v (%d); the first: %v", e.what, ErrUnread, e.Count, e.First)
}

// Unwrap makes errors.Is(err, ErrUnread) hold.
func (e *UnreadError) Unwrap() []error { return []error{ErrUnread, e.First} }

// unreadEntries counts the entries of an answer that cannot be read.
type unreadEntries struct {
	count int
	first error
}

// note counts an entry; a nil error is an entry that was read.
func (u *unreadEntries) note(err error) {
	if err != nil {
		u.join(unreadEntries{1, err})
	}
}

func (u *unreadEntries) join(o unreadEntries) {
	if u.count == 0 {
		u.first = o.first
	}
	u.count += o.count
}

// err is nil if every entry was read; what says what failed: noun verb.
func (u *unreadEntries) err(what string) error {
	if u.count == 0 {
		return nil
	}
	return &UnreadError{Count: u.count, First: u.first, what: what}
}

// UnauthorizedError is an ErrUnauthorized with what AWS said about it.
type UnauthorizedError struct {
	Action    string // e.g. ec2:CreateFleet; always set
	Resource  string // ARN; empty if AWS does not name it
	Principal string // ARN of the caller; empty if AWS does not name it
	Err       error  // the SDK's error
}

func (e *UnauthorizedError) Error() string {
	s := "not authorized to perform " + e.Action
	if e.Resource != "" {
		s += " on " + e.Resource
	}
	if e.Principal != "" {
		s += " as " + e.Principal
	}
	return s
}

// Is makes errors.Is(err, ErrUnauthorized) hold.
func (e *UnauthorizedError) Is(target error) bool { return target == ErrUnauthorized }

// Unwrap returns the SDK's error.
func (e *UnauthorizedError) Unwrap() error { return e.Err }

// classified is an SDK error with the sentinel that its code stands for.
type classified struct {
	kind error
	err  error
}

func (e *classified) Error() string   { return fmt.Sprintf("%v: %s", e.kind, shortMessage(e.err)) }
func (e *classified) Unwrap() []error { return []error{e.kind, e.err} }

// wrap turns an SDK error into one of this package, with what failed: noun verb.
func wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), classify(err))
}

// Unanswered says whether no answer came, as in a network without a way to the service: no
// connection was made, or the call ended only with its time. Nothing can be said where the
// credentials are at fault or AWS throttles.
func Unanswered(err error) bool {
	return !errors.Is(err, ErrCredentials) && !errors.Is(err, ErrThrottled) && (errors.Is(err, ErrUnreachable) || errors.Is(err, context.DeadlineExceeded))
}

// Away says whether the service is at fault, and not what was asked: it throttles, it does not
// answer, or it answers that it cannot at the moment.
func Away(err error) bool {
	var api smithy.APIError
	var answer interface{ HTTPStatusCode() int }
	return errors.Is(err, ErrThrottled) || Unanswered(err) || errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer ||
		errors.As(err, &answer) && answer.HTTPStatusCode() >= http.StatusInternalServerError
}

func classify(err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		var network net.Error
		switch {
		case errors.Is(err, context.Canceled):
			return fmt.Errorf("%w: %w", ErrInterrupted, context.Canceled)
		case strings.Contains(err.Error(), "failed to refresh cached credentials"), strings.Contains(err.Error(), "failed to retrieve credentials"):
			return &classified{kind: ErrCredentials, err: err}
		case missingEndpoint(err) != "":
			return fmt.Errorf("%w: %s: %s", ErrNoEndpoint, missingEndpoint(err), err.Error())
		case errors.As(err, &network) && !network.Timeout():
			return &classified{kind: ErrUnreachable, err: err}
		}
		return err
	}
	code := api.ErrorCode()
	switch {
	case strings.Contains(err.Error(), "failed to load credentials"): // what EKS Pod Identity's agent said, not AWS
		return &classified{kind: ErrCredentials, err: err}
	case isUnauthorized(code):
		return unauthorized(err, api)
	case code == "InvalidLaunchTemplateName.NotFoundException" || code == "InvalidLaunchTemplateId.NotFound":
		return &classified{kind: ErrLaunchTemplateNotFound, err: err}
	case isNotFound(code):
		return &classified{kind: ErrNotFound, err: err}
	case isExpired(code):
		return &classified{kind: ErrCredentials, err: err}
	}
	if kind := kindOf(code); kind != nil {
		return &classified{kind: kind, err: err}
	}
	if _, throttled := retry.DefaultThrottleErrorCodes[code]; throttled {
		return &classified{kind: ErrThrottled, err: err}
	}
	return err
}

// kindOf returns the sentinel of the codes that mean the same in every service.
func kindOf(code string) error {
	switch code {
	case "EntityAlreadyExists", // IAM
		"ResourceInUseException",         // EKS access entries
		"ResourceAlreadyExistsException", // EventBridge
		"QueueAlreadyExists", "QueueNameExists", "InvalidLaunchTemplateName.AlreadyExistsException":
		return ErrConflict
	case "DeleteConflict": // IAM
		return ErrInUse
	case concurrentIAM, concurrentEvents, concurrentEC2:
		return ErrConcurrent
	case "IdempotentParameterMismatch":
		return ErrIdempotentParameterMismatch
	case "InvalidClientTokenId", "UnrecognizedClientException",
		"SignatureDoesNotMatch", "InvalidSignatureException", "InvalidIdentityToken", "AuthFailure":
		return ErrCredentials
	}
	return nil
}

// The codes of IAM, EventBridge and EC2 for two writes at the same time. AWS asks to try
// again; the SDK does not do so by itself.
const (
	concurrentIAM    = "ConcurrentModification"
	concurrentEvents = "ConcurrentModificationException"
	concurrentEC2    = "ConcurrentTagAccess"
)

// isExpired says whether the credentials of the call have ended, or the clocks differ too much.
func isExpired(code string) bool {
	switch code {
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired":
		return true
	}
	return false
}

func isNotFound(code string) bool {
	switch code {
	case "NoSuchEntity", "ResourceNotFoundException", "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue", "ParameterNotFound":
		return true
	}
	return strings.HasSuffix(code, ".NotFound")
}

func isUnauthorized(code string) bool {
	switch code {
	case "UnauthorizedOperation", "AccessDenied", "AccessDeniedException":
		return true
	}
	return false
}

// All AWS services use the sentence "User: P is not authorized to perform: A on
// resource: R because ...". STS leaves out the colons and the user.
var (
	deniedAction    = regexp.MustCompile(`(?i)not authorized to perform:? ([a-z0-9-]+:[A-Za-z*]+)`)
	deniedResource  = regexp.MustCompile(`on resource: (\S+)`)
	deniedPrincipal = regexp.MustCompile(`User: (\S+) is not`)
)

func unauthorized(err error, api smithy.APIError) *UnauthorizedError {
	message := api.ErrorMessage()
	first := func(re *regexp.Regexp) string {
		if m := re.FindStringSubmatch(message); m != nil {
			return m[1]
		}
		return ""
	}
	e := &UnauthorizedError{Action: first(deniedAction), Resource: first(deniedResource), Principal: first(deniedPrincipal), Err: err}
	if e.Action == "" {
		e.Action = innermostOperation(err)
	}
	return e
}

// innermostOperation names the call that failed. If the credentials themselves come
// from a call (AssumeRoleWithWebIdentity), that may be the inner one.
func innermostOperation(err error) string {
	action := "an unnamed action"
	for {
		var op *smithy.OperationError
		if !errors.As(err, &op) {
			return action
		}
		action = strings.ToLower(op.Service()) + ":" + op.Operation()
		err = op.Unwrap()
	}
}

// shortMessage is the message of the service, without the request id and status code
// that the SDK adds.
func shortMessage(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorMessage() != "" {
		return api.ErrorMessage()
	}
	return err.Error()
}

// hasCode reports whether err is an AWS error with the code, and with part in its
// message, without regard to case.
func hasCode(err error, code, part string) bool {
	var api smithy.APIError
	return errors.As(err, &api) && api.ErrorCode() == code &&
		strings.Contains(strings.ToLower(api.ErrorMessage()), strings.ToLower(part))
}
