package faults

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is one way in which a laboratory goes wrong.
type Fault struct {
	Name  string
	Does  string // one line for people, without the name
	Takes []Parameter
	// Begin starts the fault. end takes it back, and is called once; it is nil for what happens
	// once and has no end.
	Begin func(ctx context.Context, v *Values) (end func(context.Context) error, err error)
}

// Parameter is a parameter of a fault.
type Parameter struct {
	Name    string
	Means   string // with the unit
	Default string // empty: it must be given, unless Optional
	// Optional parameters may be empty.
	Optional bool
}

// lasting is the parameter that every fault has.
const lasting = "for"

// Values are the parameters of one fault. The methods read one each; the first that is not of
// its form is the error.
type Values struct {
	given url.Values
	takes []Parameter
	err   error
}

// read checks that all parameters are known and that none is missing.
func (f Fault) read(given url.Values) (*Values, error) {
	v := &Values{given: given, takes: f.Takes}
	for name := range given {
		if name != lasting && !slices.ContainsFunc(f.Takes, func(p Parameter) bool { return p.Name == name }) {
			return nil, fmt.Errorf("fault %s: %w: it has no parameter %q; it takes %s", f.Name, ErrParameter, name, f.parameters())
		}
	}
	for _, p := range f.Takes {
		if p.Default == "" && !p.Optional && given.Get(p.Name) == "" {
			return nil, fmt.Errorf("fault %s: %w: %s is missing: %s", f.Name, ErrParameter, p.Name, p.Means)
		}
	}
	return v, nil
}

func (f Fault) parameters() string {
	names := []string{lasting}
	for _, p := range f.Takes {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// Text is the value of a parameter.
func (v *Values) Text(name string) string {
	if text := v.given.Get(name); text != "" {
		return text
	}
	for _, p := range v.takes {
		if p.Name == name {
			return p.Default
		}
	}
	return ""
}

// Duration reads Go's form, such as 1m30s; none is zero.
func (v *Values) Duration(name string) time.Duration {
	text := v.Text(name)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		v.wrong(name, text, "a duration such as 1m30s")
	}
	return d
}

// Int reads a whole number of 0 or more.
func (v *Values) Int(name string) int {
	text := v.Text(name)
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		v.wrong(name, text, "a whole number of 0 or more")
	}
	return n
}

// Share reads a number from 0 to 1.
func (v *Values) Share(name string) float64 {
	text := v.Text(name)
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x <= 1) {
		v.wrong(name, text, "a number from 0 to 1")
	}
	return x
}

// OneOf reads one of some words.
func (v *Values) OneOf(name string, words ...string) string {
	text := v.Text(name)
	if !slices.Contains(words, text) {
		v.wrong(name, text, "one of "+strings.Join(words, ", "))
	}
	return text
}

// Err is the first parameter that was not of its form.
func (v *Values) Err() error { return v.err }

func (v *Values) wrong(name, text, want string) {
	if v.err == nil {
		v.err = fmt.Errorf("%w: %s is %q; want %s", ErrParameter, name, text, want)
	}
}
