package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

func main() {
	if err := run(os.Stdin, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pulumi SDK write:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, args []string) error {
	if len(args) != 1 {
		return errors.New("want one argument, the folder to write to")
	}
	var spec schema.PackageSpec
	if err := json.NewDecoder(in).Decode(&spec); err != nil {
		return fmt.Errorf("schema read: %w", err)
	}
	languages := map[string]schema.Language{"python": python.Importer}
	pkg, err := schema.ImportSpec(spec, languages, schema.ValidationOptions{AllowDanglingReferences: false})
	if err != nil {
		return fmt.Errorf("schema bind: %w", err)
	}
	files, err := python.GeneratePackage("pulumi", pkg, nil, nil)
	if err != nil {
		return fmt.Errorf("python generate: %w", err)
	}
	for name, text := range files {
		path := filepath.Join(args[0], name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}
