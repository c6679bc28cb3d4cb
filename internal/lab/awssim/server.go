package awssim

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/sigv4"
	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/wire"
)

const maxBody = 10 << 20

// exchange is one HTTP request on its way through the front end.
type exchange struct {
	protocol
	service wire.Service
	request *wire.Request
	body    []byte
	sig     *sigv4.Signature // nil: not signed
}

// ServeHTTP answers one call.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received := c.options.Now()
	x, err := c.read(r)
	x.request.Now = received
	call := Call{Time: received, Service: x.request.Service, Action: x.request.Action, RequestID: x.request.ID}
	fault, hit := c.faults.take(call.Service, call.Action)
	fault.Latency += between(c.options.CallTime[0], c.options.CallTime[1])
	if err == nil {
		err = fault.before(r.Context())
	}
	if err == nil {
		err = c.throttle.take(call.Service, call.Action, received)
	}
	var value any
	if err == nil {
		value, err = c.serve(r, x)
	}
	call.Identity = x.request.Identity.ARN
	var a answer
	if err == nil {
		a, err = x.success(call.Action, x.request.ID, value)
	}
	if err != nil {
		e := asWireError(err)
		call.ErrorCode = e.Code
		a = x.failure(call.Service, x.request.ID, e)
		if e.Fault {
			c.options.Logger.Error("simulated AWS failed", "service", call.Service, "action", call.Action, "error", e.Message)
		}
	}
	call.Dropped = hit && (fault.DropResponse || fault.Blackhole)
	c.calls.add(call)
	c.options.Logger.Trace("call", "service", call.Service, "action", call.Action, "identity", call.Identity, "code", call.ErrorCode)
	if call.Dropped {
		// Ends the connection without an answer.
		panic(http.ErrAbortHandler) //nolint:forbidigo // how net/http ends a connection without an answer
	}
	a.write(w)
}

// read finds service, protocol and action. The exchange is usable for an error
// answer also when read fails.
func (c *Cloud) read(r *http.Request) (*exchange, error) {
	x := &exchange{protocol: protocols()["sts"], request: &wire.Request{
		ID: newRequestID(), Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.Query(), Region: c.options.Region,
	}}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		return x, wire.Errorf("RequestEntityTooLarge", "the request body cannot be read or is larger than %d bytes", maxBody)
	}
	x.body, x.request.Body, x.request.Form = body, body, r.URL.Query()
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return x, wire.Errorf("MalformedQueryString", "the form in the request body cannot be read: %v", err)
		}
		for name, values := range form {
			x.request.Form[name] = values
		}
	}
	x.sig, err = sigv4.Parse(r)
	name := "sts"
	switch {
	case err == nil:
		name, x.request.Region = x.sig.Service, x.sig.Region
	case errors.Is(err, sigv4.ErrMissing) && x.request.Form.Get("Action") == "AssumeRoleWithWebIdentity":
		// The one action whose callers have no key yet.
		x.sig = nil
	default:
		x.protocol = unsignedProtocol(r, x.request.Form)
		why := x.refusals()
		return x, &wire.Error{Code: why.missing, Status: why.status, Message: "Request is missing Authentication Token"}
	}
	p, known := protocols()[name]
	x.request.Service, x.service = name, c.services[name]
	if !known || x.service == nil {
		return x, &wire.Error{Code: "UnknownService", Status: http.StatusNotFound, Message: "the simulated AWS has no service " + name}
	}
	x.protocol = p
	x.request.Action = p.actionOf(r.Header.Get("X-Amz-Target"), x.request.Form, x.service, r.Method, x.request.Path)
	if x.request.Action == "" {
		return x, &wire.Error{Code: unknownAction(p), Status: http.StatusNotFound, Message: "the request names no action that " + name + " has"}
	}
	return x, nil
}

func unknownAction(p protocol) string {
	if p.family == awsJSON || p.family == restJSON {
		return "UnknownOperationException"
	}
	return "InvalidAction"
}

// serve authenticates the caller and does the action.
func (c *Cloud) serve(r *http.Request, x *exchange) (any, error) {
	if x.sig != nil {
		identity, err := c.authenticate(r, x)
		if err != nil {
			return nil, err
		}
		x.request.Identity = identity
	}
	// What was received is carried out also if the client gives up meanwhile,
	// but a long poll ends with its connection.
	ctx := context.WithoutCancel(r.Context())
	if x.request.Action == "ReceiveMessage" {
		ctx = r.Context()
	}
	return x.service.Serve(ctx, x.request)
}

func newRequestID() string {
	var b [16]byte
	// crypto/rand never fails.
	_, _ = rand.Read(b[:])
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
