package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// took is what tests have taken, and where that is kept; an empty file name: nowhere.
type took struct {
	file    string
	seconds map[string]float64 // by the full name of a test that is no part of another
}

// readTook takes -took=FILE from the beginning of the arguments. Without the file nothing is
// known yet.
func readTook(args []string) (took, []string, error) {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-took=") {
		return took{}, args, nil
	}
	k := took{file: strings.TrimPrefix(args[0], "-took="), seconds: map[string]float64{}}
	raw, err := os.ReadFile(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return k, args[1:], nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &k.seconds)
	}
	if err != nil {
		return k, nil, fmt.Errorf("what tests took read (remove %s to begin anew): %w", k.file, err)
	}
	return k, args[1:], nil
}

// write keeps what the tests of this run have taken, and of others what they took before.
func (k took) write(now map[test]float64) error {
	if k.file == "" {
		return nil
	}
	seconds := map[string]float64{}
	maps.Copy(seconds, k.seconds)
	for t, s := range now {
		pkg, _, _ := strings.Cut(t.pkg, " (") // whatever part ran it
		seconds[test{pkg, t.name}.String()] = s
	}
	raw, err := json.MarshalIndent(seconds, "", " ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(k.file), 0o750)
	}
	if err == nil {
		err = os.WriteFile(k.file, append(raw, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("what tests took write: %w", err)
	}
	return nil
}

// hands deals the names to n parts, that with the most seconds first, each to the part that
// has the least so far. What is not known takes what is known on average. If nothing is known,
// they are dealt in turn, so that tests of one file, which are often alike, are apart.
func hands(names []string, n int, took func(string) (seconds float64, known bool)) [][]string {
	n = max(1, min(n, len(names)))
	all, sums := make([][]string, n), make([]float64, n)
	seconds, sum, known := map[string]float64{}, 0.0, 0
	for _, name := range names {
		if s, is := took(name); is {
			seconds[name] = s
			sum += s
			known++
		}
	}
	average := 1.0
	if known > 0 {
		average = sum / float64(known)
	}
	of := func(name string) float64 {
		if s, is := seconds[name]; is {
			return s
		}
		return average
	}
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(of(b), of(a)) })
	for _, name := range names {
		i := slices.Index(sums, slices.Min(sums))
		all[i] = append(all[i], name)
		sums[i] += of(name)
	}
	return all
}
