package dump

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// MostObject bounds one object, and a YAML document that is no List of objects: etcd takes some
// 1.5 MiB.
const MostObject = 32 << 20

// Found is what a Reader has found.
type Found struct {
	// Objects is called with each object of a kind that decisions read. Calls come one at a time
	// and in no order.
	Objects func(metav1.Object)

	mu sync.Mutex
	// Kinds counts the objects of each kind, those that are not read included.
	Kinds map[Kind]int
	// Older are objects of Karpenter of other versions than v1, as text.
	Older []Text
	// Faults are the objects that cannot be read, in no order.
	Faults []error
}

// Text is an object as it was written.
type Text struct {
	Source string
	Kind   Kind
	Text   []byte // JSON or YAML
}

// raw is an object that is not decoded yet.
type raw struct {
	source string
	number int
	kind   Kind // of the List that it is in, without "List"; the object may say another
	text   []byte
	yaml   bool
}

// Read reads a file that has the name for messages. The error is of the file as a whole; what was
// read before it stays.
func (f *Found) Read(ctx context.Context, name string, from io.Reader) error {
	buffered := bufio.NewReaderSize(from, 1<<20)
	if head, _ := buffered.Peek(2); string(head) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return fmt.Errorf("dump %s: cannot be unpacked: %w; pack it again", name, err)
		}
		buffered = bufio.NewReaderSize(unpacked, 1<<20)
	}
	group, ctx := errgroup.WithContext(ctx)
	objects := make(chan raw, 64)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for r := range objects {
				f.take(r)
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(objects)
		s := splitter{name: name, out: func(r raw) error {
			select {
			case objects <- r:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		if err := s.split(buffered); err != nil {
			return fmt.Errorf("dump %s: %w", name, err)
		}
		if s.number == 0 {
			return fmt.Errorf("dump %s: it has no objects; write one with kubectl get nodes,pods --all-namespaces -o json", name)
		}
		return nil
	})
	return group.Wait() //nolint:wrapcheck // its own functions say all
}

// ReadText reads a text as Read reads a file.
func (f *Found) ReadText(name, text string) error {
	return f.Read(context.Background(), name, strings.NewReader(text))
}

// take decodes the object and hands it on.
func (f *Found) take(r raw) {
	kind, object, err := r.decode()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Kinds == nil {
		f.Kinds = map[Kind]int{}
	}
	f.Kinds[kind]++
	switch {
	case err != nil:
		f.Faults = append(f.Faults, err)
	case object != nil:
		f.Objects(object)
	case kind.OfKarpenter():
		f.Older = append(f.Older, Text{r.source, kind, r.text})
	}
}

// decode reads the object; nil where no decision reads its kind.
func (r raw) decode() (Kind, metav1.Object, error) {
	text := r.text
	if r.yaml {
		var err error
		if text, err = yaml.YAMLToJSON(r.text); err != nil {
			return Kind{}, nil, fmt.Errorf("dump %s, object %d: it is no YAML: %w; it is left out", r.source, r.number, err)
		}
	}
	kind := kindOf(text, r.kind)
	if kind.Kind == "" {
		return kind, nil, fmt.Errorf("dump %s, object %d: it has no kind; it is left out", r.source, r.number)
	}
	object := kind.empty()
	if object == nil {
		return kind, nil, nil
	}
	if err := json.Unmarshal(text, object); err != nil {
		var named struct{ Metadata metav1.ObjectMeta }
		_ = json.Unmarshal(text, &named) //nolint:errchkjson // it may be in there or not
		return kind, nil, fmt.Errorf("dump %s, object %d: %s %s cannot be read: %w; it is left out", r.source, r.number, kind.Kind, key(&named.Metadata), err)
	}
	if object.GetName() == "" {
		return kind, nil, fmt.Errorf("dump %s, object %d: the %s has no name; it is left out", r.source, r.number, kind.Kind)
	}
	return kind, object, nil
}

// key is namespace/name, or the name.
func key(m metav1.Object) string {
	if m.GetNamespace() != "" {
		return m.GetNamespace() + "/" + m.GetName()
	}
	return m.GetName()
}

// kindOf reads the kind of the object, which most say in their first fields; without one it is
// that of its List.
func kindOf(text []byte, of Kind) Kind {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return of
	}
	var kind Kind
	for d.More() && (kind.APIVersion == "" || kind.Kind == "") {
		field, err := d.Token()
		if err != nil {
			break
		}
		to := any(&json.RawMessage{})
		switch field {
		case "kind":
			to = &kind.Kind
		case "apiVersion":
			to = &kind.APIVersion
		}
		if err := d.Decode(to); err != nil {
			break
		}
	}
	if kind.Kind == "" {
		return of
	}
	return kind
}

// splitter cuts a file into objects.
type splitter struct {
	name   string
	number int // of objects so far
	out    func(raw) error
}

func (s *splitter) object(kind Kind, text []byte, isYAML bool) error {
	s.number++
	return s.out(raw{s.name, s.number, kind, text, isYAML})
}

// split tells JSON from YAML by the first character.
func (s *splitter) split(from *bufio.Reader) error {
	for {
		c, err := from.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read: %w", err)
		case strings.ContainsRune(" \t\r\n\ufeff", rune(c)) || c == 0xef || c == 0xbb || c == 0xbf: // a byte order mark
			continue
		}
		if err := from.UnreadByte(); err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if c == '{' || c == '[' {
			return s.json(from)
		}
		return s.yaml(from)
	}
}

// json cuts JSON values, one after the other.
func (s *splitter) json(from io.Reader) error {
	d := json.NewDecoder(from)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return s.broken(d, err)
		}
		switch token {
		case json.Delim('['):
			err = s.items(d, Kind{})
		case json.Delim('{'):
			err = s.value(d)
		default:
			err = fmt.Errorf("%v is no object of a cluster; write the dump with kubectl get -o json", token)
		}
		if err != nil {
			return err
		}
	}
}

// value reads the fields of a value that has begun: those of a List with its items one by one,
// else one object.
func (s *splitter) value(d *json.Decoder) error {
	fields, list := map[string]json.RawMessage{}, false
	var kind Kind
	for d.More() {
		field, err := d.Token()
		if err != nil {
			return s.broken(d, err)
		}
		name, _ := field.(string)
		if name == "items" {
			begin, err := d.Token()
			if err != nil {
				return s.broken(d, err)
			}
			if begin == json.Delim('[') {
				list = true
				if err := s.items(d, kind); err != nil {
					return err
				}
				continue
			}
			if begin == nil { // a List of nothing
				list = true
			}
			continue
		}
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return s.broken(d, err)
		}
		fields[name] = text
		switch name {
		case "kind":
			_ = json.Unmarshal(text, &kind.Kind) //nolint:errchkjson // else it has none
			kind.Kind = strings.TrimSuffix(kind.Kind, "List")
		case "apiVersion":
			_ = json.Unmarshal(text, &kind.APIVersion) //nolint:errchkjson // as above
		}
	}
	if _, err := d.Token(); err != nil {
		return s.broken(d, err)
	}
	if list {
		return nil
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return fmt.Errorf("object %d: %w", s.number+1, err)
	}
	return s.object(Kind{}, text, false)
}

// items reads the objects of a list that has begun.
func (s *splitter) items(d *json.Decoder, of Kind) error {
	for d.More() {
		var text json.RawMessage
		if err := d.Decode(&text); err != nil {
			return s.broken(d, err)
		}
		if err := s.object(of, text, false); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return s.broken(d, err)
	}
	return nil
}

func (s *splitter) broken(d *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("it breaks off after %d objects, at byte %d; write it again", s.number, d.InputOffset())
	}
	return fmt.Errorf("it is no JSON after %d objects, at byte %d: %w; write it again with kubectl get -o json", s.number, d.InputOffset(), err)
}
