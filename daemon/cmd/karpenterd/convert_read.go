package main

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// reading reads what one conversion converts.
type reading struct {
	limit    int // of bytes in a file, and in all packed files together
	unpacked int // the bytes of all packed files so far
}

// packedError is of a file that cannot be unpacked. Beside manifests in a folder it may be anything.
type packedError struct{ what string }

func (e packedError) Error() string { return e.what }

// sources reads files, all manifests below folders, and standard input for "-" or without any
// name. skipped says what of the folders is not read.
func (r *reading) sources(names []string, in io.Reader) (all []legacy.Source, skipped []string, err error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	for _, name := range names {
		if name == "-" {
			source, err := r.source("stdin", in)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, source)
			continue
		}
		files, more, isFolder, err := manifestsIn(name)
		if err != nil {
			return nil, nil, err
		}
		skipped = append(skipped, more...)
		for _, file := range files {
			source, err := r.file(file)
			var packed packedError
			switch {
			case isFolder && errors.As(err, &packed):
				skipped = append(skipped, packed.what)
			case err != nil:
				return nil, nil, err
			default:
				source.Found = isFolder
				all = append(all, source)
			}
		}
	}
	return all, skipped, nil
}

func (r *reading) file(name string) (legacy.Source, error) {
	file, err := os.Open(name) //nolint:gosec // the user names the files to read
	if err != nil {
		return legacy.Source{}, fmt.Errorf("manifest open: %w", err)
	}
	defer func() { _ = file.Close() }()
	return r.source(name, file)
}

func (r *reading) source(name string, from io.Reader) (legacy.Source, error) {
	buffered := bufio.NewReader(from)
	if head, _ := buffered.Peek(2); string(head) == "\x1f\x8b" {
		return r.packed(name, buffered)
	}
	text, err := io.ReadAll(io.LimitReader(buffered, int64(r.limit)+1))
	if err != nil {
		return legacy.Source{}, fmt.Errorf("manifest %s read: %w", name, err)
	}
	if len(text) > r.limit {
		return legacy.Source{}, fmt.Errorf("manifest read: %s has more than %d MiB; split it", name, r.limit>>20)
	}
	return legacy.Source{Name: name, Text: string(text)}, nil
}

// packed reads what gzip has packed. A small file may become any number of bytes.
func (r *reading) packed(name string, from io.Reader) (legacy.Source, error) {
	reader, err := gzip.NewReader(from)
	if err != nil {
		return legacy.Source{}, packedError{fmt.Sprintf("%s cannot be unpacked: %v; pack it again", name, err)}
	}
	text, err := io.ReadAll(io.LimitReader(reader, int64(r.limit-r.unpacked)+1))
	switch {
	case err != nil:
		return legacy.Source{}, packedError{fmt.Sprintf("%s cannot be unpacked: %v; pack it again", name, err)}
	case len(text) > r.limit-r.unpacked && r.unpacked > 0:
		return legacy.Source{}, packedError{fmt.Sprintf("%s has, with the packed files before it, more than %d MiB when unpacked; convert it by itself", name, r.limit>>20)}
	case len(text) > r.limit-r.unpacked:
		return legacy.Source{}, packedError{fmt.Sprintf("%s has more than %d MiB when unpacked; split it, if it has manifests", name, r.limit>>20)}
	}
	r.unpacked += len(text)
	return legacy.Source{Name: name, Text: string(text)}, nil
}

// readFile reads one file that is named.
func readFile(name string) (legacy.Source, error) {
	return (&reading{limit: maxManifest}).file(name)
}

// readSource reads one text.
func readSource(name string, from io.Reader) (legacy.Source, error) {
	return (&reading{limit: maxManifest}).source(name, from)
}
