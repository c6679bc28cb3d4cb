package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

// entry is a file in an archive.
type entry struct {
	name     string
	mode     fs.FileMode
	modified time.Time
	owner    string // user:group of a tar archive; empty in a zip archive, which has none
	content  []byte
}

// maxEntry bounds what is read of one file: a program has some 150 MB.
const maxEntry = 1 << 30

var errNoProgram = errors.New("the archive has no program")

// unpack reads a zip or tar.gz archive.
func unpack(path string) ([]entry, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("archive read: %w", err)
	}
	read := untar
	if strings.HasSuffix(path, ".zip") {
		read = unzip
	}
	entries, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("archive %s read: %w", path, err)
	}
	return entries, nil
}

func unzip(text []byte) ([]entry, error) {
	r, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, err
	}
	var all []entry
	for _, f := range r.File {
		file, err := f.Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(file, maxEntry))
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		all = append(all, entry{name: f.Name, mode: f.Mode(), modified: f.Modified, content: content})
	}
	return all, nil
}

func untar(text []byte) ([]entry, error) {
	plain, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var all []entry
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(r, maxEntry))
		if err != nil {
			return nil, err
		}
		all = append(all, entry{
			name: h.Name, mode: h.FileInfo().Mode(), modified: h.ModTime, owner: h.Uname + ":" + h.Gname, content: content,
		})
	}
}

// programOf finds the one Go program among the entries, and what it says of its build.
func programOf(entries []entry) (entry, *buildinfo.BuildInfo, error) {
	for _, e := range entries {
		if info, err := buildinfo.Read(bytes.NewReader(e.content)); err == nil {
			return e, info, nil
		}
	}
	return entry{}, nil, errNoProgram
}

// setting is what the build was set to, such as GOOS.
func setting(info *buildinfo.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
