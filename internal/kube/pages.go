package kube

import (
	"bytes"
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Early lists a built-in kind of all namespaces so that the next page is on its way before the
// last one is decoded: to decode a page of pods takes as long as the API server takes to make
// one. client is of the kind's API group.
func Early[L runtime.Object](client rest.Interface, resource string, typed Lister[L]) Lister[L] {
	return early[L]{typed, client, resource}
}

type early[L runtime.Object] struct {
	Lister[L]
	client   rest.Interface
	resource string
}

// raw returns the page as it came.
func (e early[L]) raw(ctx context.Context, options metav1.ListOptions) ([]byte, error) {
	result := e.client.Get().Resource(e.resource).VersionedParams(&options, scheme.ParameterCodec).Do(ctx)
	if err := result.Error(); err != nil { // reads what the API server says, which Raw does not
		return nil, err
	}
	return result.Raw()
}

// fetched is the answer to a request for a page.
type fetched struct {
	next string // where the next page continues; empty for the last one
	list func() (runtime.Object, error)
	err  error
}

// fetch asks for a page. It leaves the decoding to whoever calls list, if it can tell without it
// where the next page continues.
func fetch[L runtime.Object](ctx context.Context, from Lister[L], options metav1.ListOptions) fetched {
	e, is := from.(interface {
		raw(ctx context.Context, options metav1.ListOptions) ([]byte, error)
	})
	if !is {
		return decoded(from.List(ctx, options))
	}
	came, err := e.raw(ctx, options)
	if err != nil {
		return fetched{err: err}
	}
	decode := func() (runtime.Object, error) { return runtime.Decode(scheme.Codecs.UniversalDeserializer(), came) }
	if next, told := continueOf(came); told {
		return fetched{next: next, list: decode}
	}
	return decoded(decode())
}

func decoded(list runtime.Object, err error) fetched {
	if err != nil {
		return fetched{err: err}
	}
	about, err := meta.ListAccessor(list)
	if err != nil {
		return fetched{err: fmt.Errorf("list read: %w", err)}
	}
	return fetched{next: about.GetContinue(), list: func() (runtime.Object, error) { return list, nil }}
}

// continueOf reads where the next page continues from a list in Kubernetes' protobuf: an envelope
// (runtime.Unknown) whose second field is the list, whose first field is its metadata.
func continueOf(page []byte) (next string, told bool) {
	envelope, is := bytes.CutPrefix(page, []byte("k8s\x00"))
	if !is {
		return "", false // JSON
	}
	list, there := field(envelope, 2)
	if !there {
		return "", false
	}
	raw, there := field(list, 1)
	if !there {
		return "", false
	}
	var about metav1.ListMeta
	if err := about.Unmarshal(raw); err != nil {
		return "", false
	}
	return about.Continue, true
}

// field returns the one field of the number, which has to be a message or bytes.
func field(message []byte, number protowire.Number) (value []byte, there bool) {
	for len(message) > 0 {
		n, kind, tag := protowire.ConsumeTag(message)
		if tag < 0 {
			return nil, false
		}
		size := protowire.ConsumeFieldValue(n, kind, message[tag:])
		if size < 0 {
			return nil, false
		}
		if n == number {
			if there || kind != protowire.BytesType {
				return nil, false
			}
			value, _ = protowire.ConsumeBytes(message[tag:])
			there = true
		}
		message = message[tag+size:]
	}
	return value, there
}
