// Package client is the HTTP client with which tests that try each call once
// talk to simulated AWS services and to their judges.
package client

import (
	"bytes"
	"io"
	"net/http"
)

// New is a client that reads each request's body into memory before the
// request goes out; a nil transport is the default one.
//
// The reason: the SDK closes a request's body as soon as the answer begins. A
// server on loopback may answer before the writer of net/http has asked that
// body for its end. The writer then takes the close for a failure and closes
// the connection in the middle of the answer ("use of closed network
// connection"). Production clients retry such an answer; these tests do not.
func New(transport http.RoundTripper) *http.Client {
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &http.Client{Transport: buffered{transport}}
}

type buffered struct{ next http.RoundTripper }

// RoundTrip hands the request on with a body that nobody else closes.
func (b buffered) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Body == nil || request.Body == http.NoBody {
		return b.next.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	_ = request.Body.Close()
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Body = io.NopCloser(bytes.NewReader(body))
	return b.next.RoundTrip(request)
}
