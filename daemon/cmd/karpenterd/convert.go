package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/karpenterd/terraform-provider-karpenter/internal/legacy"
)

// maxManifest bounds a file that is read: more is no manifest.
const maxManifest = 64 << 20

// conversion is the command "convert".
type conversion struct {
	hcl, strict   bool
	profile, role string
}

func convertCommand(s streams) *cobra.Command {
	var c conversion
	command := &cobra.Command{
		Use:   "convert [FILE | FOLDER | -]...",
		Short: "write manifests of Karpenter's older APIs as v1, or as Terraform configuration",
		Long: "convert writes manifests of Karpenter's older APIs (v1alpha5, v1alpha1, v1beta1) as v1, or as\n" +
			"Terraform configuration. It reads files, all manifests below folders, and standard input for \"-\"\n" +
			"or without any name. Warnings say what changes.",
		Example: "  karpenterd convert provisioner.yaml > nodepool.yaml\n  karpenterd convert --hcl manifests/ > pools.tf",
		RunE:    func(_ *cobra.Command, args []string) error { return c.run(args, s) },
	}
	flags := command.Flags()
	flags.BoolVar(&c.hcl, "hcl", false, "write resources of the Terraform provider in place of manifests; templates such as ${var.name} stay")
	flags.BoolVar(&c.strict, "strict", false, "take warnings for errors")
	flags.StringVar(&c.profile, "instance-profile", "", "instance profile of EC2NodeClasses that name none")
	flags.StringVar(&c.role, "role", "", "role of EC2NodeClasses that name no instance profile")
	return command
}

// run writes manifests or Terraform configuration to out, and warnings to err. Nothing is
// written to out if there is an error.
func (c *conversion) run(args []string, s streams) error {
	if c.profile != "" && c.role != "" {
		return usageError{errors.New("convert: --instance-profile and --role exclude each other; give one of them")}
	}
	sources, err := readSources(args, s.in)
	if err != nil {
		return fmt.Errorf("convert: %w", err)
	}
	result := legacy.Convert(sources, legacy.Options{InstanceProfile: c.profile, Role: c.role})
	text, warnings, err := output(result, c.hcl)
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
	case c.strict && n > 0:
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
