package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// known yet. What cannot be read as JSON is worth no failure: it is warned of and learned anew.
func readTook(args []string, warnings io.Writer) (took, []string, error) {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-took=") {
		return took{}, args, nil
	}
	k := took{file: strings.TrimPrefix(args[0], "-took="), seconds: map[string]float64{}}
	raw, err := os.ReadFile(k.file)
	if errors.Is(err, fs.ErrNotExist) {
		return k, args[1:], nil
	}
	if err != nil {
		return k, nil, fmt.Errorf("what tests took read: %w", err)
	}
	if err := json.Unmarshal(raw, &k.seconds); err != nil {
		fmt.Fprintf(warnings, "warning: %s cannot be read, so what tests take is learned anew: %v\n", k.file, err)
		k.seconds = map[string]float64{}
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
		err = replace(k.file, append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("what tests took write: %w", err)
	}
	return nil
}

// replace writes the file in one move: a run that is killed meanwhile leaves what was there.
func replace(file string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(content)
	if err := errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
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
