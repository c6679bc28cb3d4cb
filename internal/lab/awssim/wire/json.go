package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Epoch is a time as the JSON protocols write it: seconds since 1970 with
// milliseconds as the fraction.
type Epoch time.Time

// MarshalJSON writes the number.
func (e Epoch) MarshalJSON() ([]byte, error) {
	ms := time.Time(e).UnixMilli()
	return strconv.AppendFloat(nil, float64(ms)/1000, 'f', -1, 64), nil
}

// UnmarshalJSON reads the number.
func (e *Epoch) UnmarshalJSON(data []byte) error {
	var seconds float64
	if err := json.Unmarshal(data, &seconds); err != nil {
		return err
	}
	*e = Epoch(time.UnixMilli(int64(seconds * 1000)).UTC())
	return nil
}

// Handler serves one action.
type Handler func(ctx context.Context, req *Request) (any, error)

// Handlers are a service's by action. A service that embeds them is a Service.
type Handlers map[string]Handler

// Actions lists what is simulated, sorted.
func (h Handlers) Actions() []string { return slices.Sorted(maps.Keys(h)) }

// Serve answers one action.
func (h Handlers) Serve(ctx context.Context, req *Request) (any, error) {
	handle, ok := h[req.Action]
	if !ok {
		return nil, Errorf("UnknownOperationException", "%s has no action %s here", req.Service, req.Action)
	}
	return handle(ctx, req)
}

// JSON makes a handler of a function that takes the decoded body. A parameter
// that In does not have is refused, not ignored: what is simulated is done.
func JSON[In any](serve func(ctx context.Context, req *Request, in *In) (any, error)) Handler {
	return func(ctx context.Context, req *Request) (any, error) {
		in := new(In)
		if len(req.Body) > 0 {
			dec := json.NewDecoder(bytes.NewReader(req.Body))
			dec.DisallowUnknownFields()
			if err := dec.Decode(in); err != nil {
				return nil, Errorf("SerializationException", "%s: a parameter is malformed or not simulated: %v", req.Action, err)
			}
		}
		return serve(ctx, req, in)
	}
}

// Page cuts sorted items: after is the key of the last item that was given (a
// next token), limit the most to give. next is empty at the end.
func Page[T any](items []T, key func(T) string, after string, limit int) (page []T, next string) {
	for after != "" && len(items) > 0 && key(items[0]) <= after {
		items = items[1:]
	}
	if limit <= 0 || len(items) <= limit {
		return items, ""
	}
	return items[:limit], key(items[limit-1])
}

// TagConditions are the condition keys of a request that sets tags.
func TagConditions(tags map[string]string) map[string][]string {
	out := map[string][]string{}
	for k, v := range tags {
		out["aws:RequestTag/"+k] = []string{v}
		out["aws:TagKeys"] = append(out["aws:TagKeys"], k)
	}
	return out
}
