package aws

import (
	"bytes"
	"io"
	"net/http"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
)

// buffered hands requests on with a body that nobody else closes.
//
// The SDK closes a request's body as soon as the answer begins. If the writer of net/http
// has not yet asked that body for its end, as it may be where the endpoint is near or the
// processor is busy, it takes the close for a failure and closes the connection in the
// middle of the answer. A long answer is lost then, and asked for again.
type buffered struct{ next awssdk.HTTPClient }

// Do sends the request.
func (b buffered) Do(request *http.Request) (*http.Response, error) {
	if request.Body == nil || request.Body == http.NoBody {
		return b.next.Do(request)
	}
	body, err := io.ReadAll(request.Body)
	_ = request.Body.Close()
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Body = io.NopCloser(bytes.NewReader(body))
	return b.next.Do(request)
}
