package fetch

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// File is something that a project has published.
type File struct {
	URL string
	// Sum is the project's own sum of it, as sha256: or sha512: and hexadecimal digits.
	Sum string
	// Programs are its executables: the name that each gets, by its path in the tar.gz.
	// If the file is itself the executable, its path is empty.
	Programs map[string]string
}

// Client downloads. The zero value waits for nothing but a connection.
type Client struct {
	// Slowest is the least number of bytes that must come in each Window; fewer and the
	// download is given up. Without a Window it takes as long as it takes.
	Slowest int64
	Window  time.Duration
}

// connectTimeout is how long a server may take to accept a connection: most machines
// without a way out do not refuse one, they drop it.
const connectTimeout = 3 * time.Second

func (c Client) http() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
		TLSHandshakeTimeout:   2 * connectTimeout,
		ResponseHeaderTimeout: 5 * connectTimeout,
		ForceAttemptHTTP2:     true,
		// An archive is compressed once; its sum is of what is stored.
		DisableCompression: true,
	}}
}

// Get puts the programs of the file into the folder dir. heard is told how much has
// come, and how much there is.
func (c Client) Get(ctx context.Context, f File, dir string, heard func(got, size int64)) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("download keep: %w", err)
	}
	work, err := os.MkdirTemp(dir, "downloading-")
	if err != nil {
		return fmt.Errorf("download keep: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	whole := filepath.Join(work, "file")
	if err := c.download(ctx, f, whole, heard); err != nil {
		return err
	}
	return unpack(whole, f, work, dir)
}

// download writes the file to path and checks its sum.
func (c Client) download(ctx context.Context, f File, path string, heard func(got, size int64)) (err error) {
	sum, want, err := summer(f.Sum)
	if err != nil {
		return err
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	body, size, err := c.open(ctx, f.URL)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("download keep: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	counted := &counter{size: size, heard: heard}
	if c.Window > 0 {
		done := make(chan struct{})
		defer close(done)
		go c.watch(counted, giveUp, done)
	}
	got, err := io.Copy(io.MultiWriter(out, sum, counted), body)
	switch {
	case err != nil && isLocal(err):
		return fmt.Errorf("download keep: %w", err)
	case err != nil:
		return fmt.Errorf("%s: %w: %w", f.URL, ErrUnavailable, errors.Join(context.Cause(ctx), err))
	case size >= 0 && got != size: // net/http says so, too
		return fmt.Errorf("%s: %w: cut off after %d of %d bytes", f.URL, ErrUnavailable, got, size)
	}
	if have := hex.EncodeToString(sum.Sum(nil)); have != want {
		return fmt.Errorf("%s: %w: expected %s, got %s: whatever answers there does not have what its project published; try again without the proxy or mirror in between, or build with LAB_BINARIES=build", f.URL, ErrSum, want, have)
	}
	return nil
}

// open asks for the file.
func (c Client) open(ctx context.Context, url string) (io.ReadCloser, int64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("download ask: %w", err)
	}
	answer, err := c.http().Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if answer.StatusCode != http.StatusOK {
		_ = answer.Body.Close()
		return nil, 0, fmt.Errorf("%s: %w: %s", url, ErrUnavailable, answer.Status)
	}
	return answer.Body, answer.ContentLength, nil
}

// isLocal reports whether the disk failed, not the network.
func isLocal(err error) bool {
	var disk *os.PathError
	return errors.As(err, &disk)
}

// summer returns the hash that a sum is of, and its digits.
func summer(sum string) (hash.Hash, string, error) {
	kind, digits, _ := strings.Cut(sum, ":")
	kinds := map[string]hash.Hash{"sha256": sha256.New(), "sha512": sha512.New()}
	h, ok := kinds[kind]
	if !ok || len(digits) != 2*h.Size() {
		return nil, "", fmt.Errorf("download check: %q is no sum", sum)
	}
	return h, digits, nil
}
