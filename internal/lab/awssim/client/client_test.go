package client_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/awssim/client"
)

// late is a connection whose writer is told late that its bytes went out.
type late struct {
	net.Conn
	answered <-chan struct{}
}

func (l late) Write(b []byte) (int, error) {
	n, err := l.Conn.Write(b)
	if string(b[:min(len(b), 4)]) != "POST" { // the body, or all of it
		<-l.answered
	}
	return n, err
}

// A server that answers before the writer is done with the request must not
// cost the second half of the answer.
func TestNew_AnswersThatComeBeforeTheRequestIsDoneAreReadWhole(t *testing.T) {
	begun := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, "<DescribeSubnetsResponse>")
		_ = http.NewResponseController(w).Flush()
		time.AfterFunc(50*time.Millisecond, func() { close(begun) }) // the SDK has begun to read
		time.Sleep(100 * time.Millisecond)
		_, _ = io.WriteString(w, "<subnetSet><item><subnetId>subnet-1</subnetId></item></subnetSet></DescribeSubnetsResponse>")
	}))
	defer server.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return late{conn, begun}, err
	}}
	defer transport.CloseIdleConnections()
	out, err := ec2.New(ec2.Options{
		Region: "us-west-2", BaseEndpoint: &server.URL, Retryer: aws.NopRetryer{}, HTTPClient: client.New(transport),
		Credentials: credentials.NewStaticCredentialsProvider("AKIA", "secret", ""),
	}).DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Subnets) != 1 {
		t.Errorf("read %d subnets, want 1", len(out.Subnets))
	}
}
