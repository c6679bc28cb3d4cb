package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
)

// sum is a line of the checksums.
type sum struct{ sha256, name string }

// readSums reads checksums in the form of sha256sum.
func readSums(path string) ([]sum, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("checksums read: %w", err)
	}
	var all []sum
	for line := range strings.Lines(string(text)) {
		digest, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || len(digest) != hex.EncodedLen(sha256.Size) || strings.ContainsAny(name, `/\`) {
			return nil, fmt.Errorf("checksums read: %s has the line %q, which is no checksum of a file", path, line)
		}
		all = append(all, sum{digest, name})
	}
	return all, nil
}

// sumOf is the checksum of a file.
func sumOf(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("file read: %w", err)
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), nil
}

func trimAlgorithm(digest string) string { return strings.TrimPrefix(digest, "sha256:") }
