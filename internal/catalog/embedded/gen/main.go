// Command gen compresses the committed facts into the blob that package
// embedded compiles in. It runs in that package's folder and is deterministic
// for a Go version.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

func main() {
	if err := generate("facts", "blob"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// generate packs every .tsv file of one folder into another folder. It empties
// the other folder first, so that no file of a removed region stays.
func generate(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("blob clear: %w", err)
	}
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // source files are for all to read
		return fmt.Errorf("blob create: %w", err)
	}
	source := os.DirFS(from)
	files, err := fs.Glob(source, "*.tsv")
	if err != nil {
		return fmt.Errorf("facts list: %w", err)
	}
	for _, file := range files {
		data, err := fs.ReadFile(source, file)
		if err != nil {
			return fmt.Errorf("facts read: %w", err)
		}
		packed, err := pack(data)
		if err != nil {
			return fmt.Errorf("facts pack %s: %w", file, err)
		}
		if err := os.WriteFile(filepath.Join(to, file+".gz"), packed, 0o644); err != nil { //nolint:gosec // as above
			return fmt.Errorf("blob write: %w", err)
		}
	}
	return nil
}

func pack(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
