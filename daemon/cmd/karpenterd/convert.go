package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// maxManifest bounds a file that is read: more is no manifest.
const maxManifest = 64 << 20

// streams are what a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// convert is the command "convert": it writes manifests or Terraform configuration to
// out, and warnings to err. Nothing is written to out if there is an error.
func convert(args []string, s streams) error {
	flags := flag.NewFlagSet("convert", flag.ContinueOnError)
	flags.SetOutput(s.err)
	hcl := flags.Bool("hcl", false, "write resources of the Terraform provider in place of manifests; templates such as ${var.name} stay")
	strict := flags.Bool("strict", false, "take warnings for errors")
	profile := flags.String("instance-profile", "", "instance profile of EC2NodeClasses that name none")
	role := flags.String("role", "", "role of EC2NodeClasses that name no instance profile")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	if *profile != "" && *role != "" {
		return errors.New("convert: --instance-profile and --role exclude each other; give one of them")
	}
	sources, err := readSources(flags.Args(), s.in)
	if err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	result := legacy.Convert(sources, legacy.Options{InstanceProfile: *profile, Role: *role})
	text, warnings, err := output(result, *hcl)
	if err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	for _, p := range result.Errors {
		fmt.Fprintln(s.err, "error:", p)
	}
	for _, p := range warnings {
		fmt.Fprintln(s.err, "warning:", p)
	}
	for _, name := range result.Others {
		fmt.Fprintln(s.err, "not converted:", name, "is not an object of Karpenter")
	}
	switch n := len(warnings); {
	case len(result.Errors) > 0:
		return fmt.Errorf("convert: %d errors; nothing is written", len(result.Errors))
	case text == "":
		return errors.New("convert: the input has no object of Karpenter; name files or folders with Provisioners, AWSNodeTemplates, NodePools or EC2NodeClasses")
	case *strict && n > 0:
		return fmt.Errorf("convert: %d warnings, which --strict takes for errors; nothing is written", n)
	}
	if _, err := io.WriteString(s.out, text); err != nil {
		return fmt.Errorf("convert: output write: %w", err)
	}
	return nil
}

// output is the text to write, with all warnings. There is none if there are errors.
func output(result legacy.Result, hcl bool) (string, []legacy.Problem, error) {
	if hcl {
		text, more := result.HCL()
		return text, slices.Concat(result.Warnings, more), nil
	}
	text, err := result.YAML()
	if err != nil {
		return "", nil, fmt.Errorf("manifests write: %w", err)
	}
	return text, result.Warnings, nil
}

// readSources reads files, all manifests below folders, and standard input for "-" or
// without any name.
func readSources(names []string, in io.Reader) ([]legacy.Source, error) {
	if len(names) == 0 {
		names = []string{"-"}
	}
	var all []legacy.Source
	for _, name := range names {
		if name == "-" {
			source, err := readSource("stdin", in)
			if err != nil {
				return nil, err
			}
			all = append(all, source)
			continue
		}
		files, err := manifestsIn(name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			source, err := readFile(file)
			if err != nil {
				return nil, err
			}
			all = append(all, source)
		}
	}
	return all, nil
}

// manifestsIn gives a file itself, and the manifests below a folder in the order of
// their names. Folders whose name begins with a point are left out.
func manifestsIn(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("manifest find: %w", err)
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var files []string
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("folder read: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("folder read: %s has no .yaml, .yml or .json file; name the files", name)
	}
	return files, nil
}

func readFile(name string) (legacy.Source, error) {
	file, err := os.Open(name) //nolint:gosec // the user names the files to read
	if err != nil {
		return legacy.Source{}, fmt.Errorf("manifest open: %w", err)
	}
	defer func() { _ = file.Close() }()
	return readSource(name, file)
}

func readSource(name string, from io.Reader) (legacy.Source, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxManifest+1))
	if err != nil {
		return legacy.Source{}, fmt.Errorf("manifest read: %w", err)
	}
	if len(text) > maxManifest {
		return legacy.Source{}, fmt.Errorf("manifest read: %s has more than %d MiB; split it", name, maxManifest>>20)
	}
	return legacy.Source{Name: name, Text: string(text)}, nil
}
