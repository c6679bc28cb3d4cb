// Package familytest reads user data in tests as what it tells an instance, setting by
// setting, and holds two readings against each other. It knows the forms of Karpenter's
// user data as well as ours, and shares no code with what writes them. It has no state, and
// only tests import it: those of modules of their own, in which Karpenter's code builds.
package familytest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// None stands for a setting that is not there, and Refused for user data that does not come
// to be.
const None, Refused = "(none)", "(refused)"

// Form is the place of what the text is: MIME, TOML, or Refused.
const Form = "form"

// Settings are what user data says, by place.
type Settings map[string]string

// At returns the setting of the place, or None.
func (s Settings) At(place string) string {
	if value, there := s[place]; there {
		return value
	}
	return None
}

// Put notes a setting. A place that has one already is an error of the test.
func (s Settings) Put(t *testing.T, place, value string) {
	t.Helper()
	if _, there := s[place]; there {
		t.Errorf("%s is there twice", place)
	}
	s[place] = value
}

// Refusal are the settings of user data that does not come to be.
func Refusal() Settings { return Settings{Form: Refused} }

// Whole has the text, of a family that hands it on as it is.
func Whole(text string) Settings { return Settings{"text": text} }

// MIME reads the parts, and returns the body of the last, which is the family's own.
func MIME(t *testing.T, text string) (s Settings, own string) {
	t.Helper()
	s = Settings{Form: "MIME"}
	parts := readMIME(t, text)
	for n, p := range parts[:len(parts)-1] {
		s.Put(t, fmt.Sprintf("part %d", n+1), p.body)
		for key, value := range p.header {
			s.Put(t, fmt.Sprintf("part %d %s", n+1, key), value)
		}
	}
	last := parts[len(parts)-1]
	s.Put(t, "own part", last.header["Content-Type"])
	return s, last.body
}

type part struct {
	header map[string]string
	body   string
}

// readMIME reads the parts as cloud-init does: what is encoded is decoded.
func readMIME(t *testing.T, text string) (out []part) {
	t.Helper()
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	for reader := multipart.NewReader(message.Body, params["boundary"]); ; {
		p, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		var body io.Reader = p
		switch p.Header.Get("Content-Transfer-Encoding") {
		case "base64":
			body = base64.NewDecoder(base64.StdEncoding, p)
		case "quoted-printable":
			body = quotedprintable.NewReader(p)
		}
		p.Header.Del("Content-Transfer-Encoding")
		raw, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		header := map[string]string{}
		for key := range p.Header {
			header[key] = p.Header.Get(key)
		}
		out = append(out, part{header, string(raw)})
	}
}

// Script reads the call of bootstrap.sh as the shell does.
func (s Settings) Script(t *testing.T, text string) {
	t.Helper()
	before, call, found := strings.Cut(text, "/etc/eks/bootstrap.sh ")
	if !found {
		t.Fatalf("no call in:\n%s", text)
	}
	s.Put(t, "before the call", before)
	args := Words(t, strings.TrimSpace(call))
	s.Put(t, "cluster", args[0])
	for pair := range slices.Chunk(args[1:], 2) {
		if len(pair) != 2 {
			t.Fatalf("%s has no value in:\n%s", pair[0], text)
		}
		if pair[0] == "--kubelet-extra-args" {
			s.Flags(t, Words(t, pair[1]))
			continue
		}
		s.Put(t, pair[0], pair[1])
	}
}

// Words are those of a command, read by a shell.
func Words(t *testing.T, command string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "bash", "-c", `set -f; printf '%s\0' `+command).Output() //nolint:gosec // user data of tests
	if err != nil {
		t.Fatalf("%v: %s", err, command)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// Flags reads those of the kubelet.
func (s Settings) Flags(t *testing.T, words []string) {
	t.Helper()
	for _, word := range words {
		name, value, found := strings.Cut(word, "=")
		if !found || !strings.HasPrefix(name, "--") {
			t.Errorf("flag %q", word)
		}
		if !strings.ContainsAny(value, "=<:") {
			s.Put(t, name, value)
			continue
		}
		for one := range strings.SplitSeq(value, ",") {
			switch name {
			case "--register-with-taints":
				key, effect, _ := strings.Cut(one, ":")
				key, value, _ := strings.Cut(key, "=")
				s.Put(t, taint(key, effect), value)
			case "--node-labels":
				key, value, _ := strings.Cut(one, "=")
				s.Put(t, "label "+key, value)
			default:
				i := strings.IndexAny(one, "=<")
				s.Put(t, name+"."+one[:i], one[i:])
			}
		}
	}
}

func taint(key, effect string) string { return "taint " + key + ":" + effect }

// TOML reads the settings of Bottlerocket.
func TOML(t *testing.T, text string) Settings {
	t.Helper()
	s := Settings{Form: "TOML"}
	var all struct {
		Settings map[string]any `toml:"settings"`
	}
	if err := toml.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	kubernetes, _ := all.Settings["kubernetes"].(map[string]any)
	labels, _ := kubernetes["node-labels"].(map[string]any)
	for key, value := range labels {
		s.Put(t, "label "+key, fmt.Sprint(value))
	}
	taints, _ := kubernetes["node-taints"].(map[string]any)
	for key, values := range taints {
		list, _ := values.([]any)
		for _, one := range list {
			value, effect, _ := strings.Cut(fmt.Sprint(one), ":")
			s.Put(t, taint(key, effect), value)
		}
	}
	delete(kubernetes, "node-labels")
	delete(kubernetes, "node-taints")
	s.Flatten(t, "settings", all.Settings)
	return s
}

// Flatten puts what is below the path. Nothing is the same as no setting.
func (s Settings) Flatten(t *testing.T, path string, value any) {
	t.Helper()
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for key, inner := range v {
			s.Flatten(t, strings.TrimPrefix(path+"."+key, "."), inner)
		}
	case string:
		s.Put(t, path, v)
	default:
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		s.Put(t, path, string(text))
	}
}
