package size

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// writers is how many requests are under way at once: enough to keep an API
// server of a few processors busy.
const writers = 64

// each calls f for 0 to n-1, side by side, and says now and then how far it is.
func (r *run) each(ctx context.Context, what string, n int, f func(context.Context, int) error) error {
	const often = 15 * time.Second
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	said := time.Now()
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		if time.Since(said) >= often {
			r.say("%d of %d %s written", i, n, what)
			said = time.Now()
		}
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// stored is an object as the API server keeps it in etcd.
type stored struct {
	key    string // without /registry/
	object runtime.Object
}

// transaction is a request of etcd's JSON gateway; bytes are base64 there.
type transaction struct {
	Success []operation `json:"success"`
}

type operation struct {
	Put put `json:"request_put"`
}

type put struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// store puts the objects into etcd, past the API server, which takes 12 ms of
// processor time to create a pod and to take its status. They must be as the API
// server would have written them.
func (r *run) store(ctx context.Context, objects []stored) error {
	encoder := scheme.Codecs.EncoderForVersion(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), corev1.SchemeGroupVersion)
	var t transaction
	for _, o := range objects {
		var value bytes.Buffer
		if err := encoder.Encode(o.object, &value); err != nil {
			return fmt.Errorf("%s encode: %w", o.key, err)
		}
		t.Success = append(t.Success, operation{put{[]byte("/registry/" + o.key), value.Bytes()}})
	}
	body, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("transaction encode: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.lab.EtcdURL+"/v3/kv/txn", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("objects store: %w", err)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("objects store: %w", err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status + ": " + string(text))
	}
	if err != nil {
		return fmt.Errorf("objects store: %w", err)
	}
	return nil
}
