package dump

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// MostObject bounds the bytes of one object, and of a YAML document that is a List in another
	// form than kubectl's: etcd takes some 1.5 MiB.
	MostObject = 32 << 20
	// buffer is how many bytes of a file are read at a time, and waiting how many objects may wait
	// for whoever decodes them: chosen, the memory that a file of any length takes.
	buffer, waiting = 1 << 20, 64
	// remedy says how to write a file that can be read.
	remedy = "write it with kubectl get nodes,pods --all-namespaces -o json"
)

// Found is what a Reader has found.
type Found struct {
	// Objects is called with each object of a kind that decisions read, and with its number among
	// all that are found. Calls come one at a time and not in the order of the numbers.
	Objects func(number int, object metav1.Object)

	mu     sync.Mutex
	before int // objects in the files before this one
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

// Read reads a file that has the name for messages. The error is of the file as a whole; what was
// read before it stays. Read ends with the context as soon as the file gives something to read: a
// standard input that gives nothing holds it up.
func (f *Found) Read(ctx context.Context, name string, from io.Reader) error {
	buffered := bufio.NewReaderSize(from, buffer)
	if head, _ := buffered.Peek(2); string(head) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return fmt.Errorf("dump %s: cannot be unpacked: %w; pack it again", name, err)
		}
		buffered = bufio.NewReaderSize(unpacked, buffer)
	}
	x := reading{found: f, before: f.before}
	err := x.read(ctx, name, buffered)
	slices.SortFunc(x.faults, func(a, b faultError) int { return cmp.Compare(a.number, b.number) })
	if err == nil && !x.kinds && len(x.faults) > 0 {
		return fmt.Errorf("dump %s: nothing in it is an object of a cluster: %w; %s", name, x.faults[0].cause, remedy)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.before += x.last
	for _, fault := range x.faults {
		f.Faults = append(f.Faults, fault)
	}
	return err
}

// ReadText reads a text as Read reads a file.
func (f *Found) ReadText(name, text string) error {
	return f.Read(context.Background(), name, strings.NewReader(text))
}

// reading is a file under way. What it has is changed under the lock of found.
type reading struct {
	found  *Found
	before int  // objects in the files before
	last   int  // the greatest number in this one
	kinds  bool // an object said its kind
	faults []faultError
}

// read cuts the file, and decodes its objects beside that.
func (x *reading) read(ctx context.Context, name string, from *bufio.Reader) error {
	group, ctx := errgroup.WithContext(ctx)
	objects := make(chan raw, waiting)
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() error {
			for r := range objects {
				x.take(r)
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
		if err := s.split(from); err != nil {
			return fmt.Errorf("dump %s: %w", name, err)
		}
		if s.number == 0 && !s.list {
			return fmt.Errorf("dump %s: it has no objects; %s", name, remedy)
		}
		return nil
	})
	return group.Wait() //nolint:wrapcheck // its own functions say all
}

// take decodes the object and hands it on, or those of a List that was not cut yet.
func (x *reading) take(r raw) {
	kind, object, err := r.decode()
	if err == nil && kind.list() {
		err = x.takeList(r)
		if err == nil {
			return
		}
	}
	f := x.found
	f.mu.Lock()
	defer f.mu.Unlock()
	x.last = max(x.last, r.number)
	if kind.Kind != "" {
		x.kinds = true
		if f.Kinds == nil {
			f.Kinds = map[Kind]int{}
		}
		f.Kinds[kind]++
	}
	switch {
	case err != nil:
		x.faults = append(x.faults, faultError{r.source, r.number, err})
	case object != nil:
		f.Objects(x.before+r.number, object)
	case kind.OfKarpenter():
		f.Older = append(f.Older, Text{r.source, kind, r.text})
	}
}

// takeList takes the objects of a List that is an object of another, or a YAML document that was
// not written as kubectl does.
func (x *reading) takeList(r raw) error {
	if r.inner {
		return errors.New("it is a List in a List in a List")
	}
	x.found.mu.Lock()
	x.kinds = true
	x.found.mu.Unlock()
	s := splitter{name: fmt.Sprintf("%s, object %d", r.source, r.number), out: func(one raw) error {
		one.inner, one.number = true, r.number
		x.take(one)
		return nil
	}}
	text, err := r.json()
	if err != nil {
		return err
	}
	return s.split(bufio.NewReader(bytes.NewReader(text)))
}

// faultError is an object that cannot be read.
type faultError struct {
	source string
	number int
	cause  error
}

func (f faultError) Error() string {
	return fmt.Sprintf("dump %s, object %d: %v; it is left out", f.source, f.number, f.cause)
}

func (f faultError) Unwrap() error { return f.cause }

// splitter cuts a file into objects.
type splitter struct {
	name   string
	number int  // of objects so far
	list   bool // there was a List, if only of nothing
	out    func(raw) error
}

func (s *splitter) object(of Kind, text []byte, isYAML bool) error {
	s.number++
	return s.out(raw{source: s.name, number: s.number, of: of, text: text, yaml: isYAML})
}

// split tells JSON from YAML by the first character of each document.
func (s *splitter) split(from *bufio.Reader) error {
	if err := notText(from); err != nil {
		return err
	}
	c := jsonCutter{splitter: s, from: from}
	for {
		first, err := c.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return c.broken(err)
		case first == '{':
			err = c.value()
		case first == '[':
			err = c.array()
		case s.number == 0 && !s.list || first == '-' || first == '#':
			return s.yaml(from, c.column)
		default:
			err = c.broken(errNoJSON)
		}
		if err != nil {
			return err
		}
	}
}

// notText says what a file is that is no text, and skips a byte order mark.
func notText(from *bufio.Reader) error {
	head, _ := from.Peek(512) // whoever reads on finds what is wrong
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")):
		return errors.New("it is UTF-16, as Windows PowerShell writes: write it as UTF-8, with kubectl get nodes,pods --all-namespaces -o json | Out-File -Encoding utf8")
	case bytes.HasPrefix(head, []byte("\ufeff")):
		_, _ = from.Discard(len("\ufeff")) // it is in the buffer
	case bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\r\n", r) }):
		return errors.New("it is neither JSON nor YAML, but has control characters; " + remedy)
	}
	return nil
}
