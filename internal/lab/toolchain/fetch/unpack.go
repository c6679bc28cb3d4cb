package fetch

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A program is never as large as this: an archive that unpacks to more is not what it
// should be.
const largest = 1 << 30

// unpack takes the programs out of the file, into the folder work, and puts them into
// dir when all are there.
func unpack(whole string, f File, work, dir string) error {
	if name, ok := f.Programs[""]; ok {
		return arrive(whole, filepath.Join(dir, name))
	}
	missing := map[string]string{}
	for inside, name := range f.Programs {
		missing[inside] = name
	}
	if err := each(whole, func(header *tar.Header, content io.Reader) error {
		inside := path.Clean(header.Name)
		name, asked := missing[inside]
		if !asked || header.Typeflag != tar.TypeReg {
			return nil
		}
		delete(missing, inside)
		return write(filepath.Join(work, name), content)
	}); err != nil {
		return fmt.Errorf("%s: %w", f.URL, err)
	}
	if len(missing) > 0 {
		var lacks []string
		for inside := range missing {
			lacks = append(lacks, inside)
		}
		slices.Sort(lacks)
		return fmt.Errorf("%s: %w: it lacks %s", f.URL, ErrArchive, strings.Join(lacks, ", "))
	}
	for _, name := range f.Programs {
		if err := arrive(filepath.Join(work, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// each calls do with each entry of a tar.gz.
func each(name string, do func(header *tar.Header, content io.Reader) error) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("archive read: %w", err)
	}
	defer func() { _ = file.Close() }()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrArchive, err)
	}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrArchive, err)
		}
		if err := do(header, archive); err != nil {
			return err
		}
	}
}

func write(name string, content io.Reader) (err error) {
	out, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("program write: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	got, err := io.Copy(out, io.LimitReader(content, largest+1))
	if err != nil {
		return fmt.Errorf("program write: %w", err)
	}
	if got > largest {
		return fmt.Errorf("%w: %s is larger than %d bytes", ErrArchive, filepath.Base(name), largest)
	}
	return nil
}

// arrive makes a file executable and gives it its name, at once.
func arrive(from, to string) error {
	if err := os.Chmod(from, 0o755); err != nil { //nolint:gosec // it is a program
		return fmt.Errorf("program keep: %w", err)
	}
	if err := os.Rename(from, to); err != nil {
		return fmt.Errorf("program keep: %w", err)
	}
	return nil
}
