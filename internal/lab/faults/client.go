package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Client begins and ends faults at the endpoint of a laboratory.
type Client struct {
	URL string // as Server.URL has it
}

// Begin begins a fault with parameters, given as names and values in turn, and returns its id.
func (c Client) Begin(ctx context.Context, name string, parameters ...string) (id string, err error) {
	if len(parameters)%2 != 0 {
		return "", fmt.Errorf("fault %s: %w: parameters are given as names and values in turn, and %d are given", name, ErrParameter, len(parameters))
	}
	values := url.Values{}
	for pair := range slices.Chunk(parameters, 2) {
		values.Set(pair[0], pair[1])
	}
	var a Active
	err = c.do(ctx, http.MethodPost, "/"+url.PathEscape(name)+"?"+values.Encode(), &a)
	return a.ID, err
}

// End ends a fault.
func (c Client) End(ctx context.Context, id string) error {
	return c.do(ctx, http.MethodDelete, "/"+url.PathEscape(id), nil)
}

// EndAll ends all faults that are in force.
func (c Client) EndAll(ctx context.Context) error { return c.do(ctx, http.MethodDelete, "", nil) }

// State is what there is and what is in force.
func (c Client) State(ctx context.Context) (State, error) {
	var s State
	err := c.do(ctx, http.MethodGet, "", &s)
	return s, err
}

func (c Client) do(ctx context.Context, method, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.URL+path, nil)
	if err != nil {
		return fmt.Errorf("fault endpoint call: %w", err)
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("fault endpoint call: %w", err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		return fmt.Errorf("fault endpoint call: %w", err)
	}
	if got.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%w: %s: %s", ErrRefused, got.Status, strings.TrimSpace(string(body)))
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("fault endpoint answer read: %w", err)
	}
	return nil
}
