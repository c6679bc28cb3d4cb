package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folder finds the manifests below a folder.
type folder struct {
	files   []string
	skipped []string        // what is not read, and why
	others  []string        // files of other kinds
	seen    map[string]bool // real names: a link may lead to what is there already, or above
}

// manifestsIn gives a file itself, and the manifests below a folder in the order of their names,
// with what is skipped there. Files and folders whose name begins with a point are left out. Links
// are followed, and nothing is read twice.
func manifestsIn(name string) (files, skipped []string, isFolder bool, err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, false, fmt.Errorf("manifest find: %w", err)
	}
	if !info.IsDir() {
		return []string{name}, nil, false, nil
	}
	f := folder{seen: map[string]bool{}}
	if err := f.walk(name); err != nil {
		return nil, nil, true, err
	}
	if len(f.files) == 0 {
		return nil, nil, true, fmt.Errorf("folder read: %s has no .yaml, .yml or .json file; name the files", name)
	}
	switch n := len(f.others); {
	case n == 1:
		f.skipped = append(f.skipped, f.others[0]+" is not .yaml, .yml or .json")
	case n > 1:
		f.skipped = append(f.skipped, fmt.Sprintf("%s and %d more files below %s are not .yaml, .yml or .json", f.others[0], n-1, name))
	}
	return f.files, f.skipped, true, nil
}

// walk looks through a folder.
func (f *folder) walk(name string) error {
	if f.known(name) {
		return nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return fmt.Errorf("folder read: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(name, entry.Name())
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		info, err := os.Stat(path)
		switch {
		case err != nil && entry.Type()&fs.ModeSymlink != 0:
			f.skipped = append(f.skipped, path+" is a link that leads nowhere")
		case err != nil:
			return fmt.Errorf("manifest find: %w", err)
		case info.IsDir():
			if err := f.walk(path); err != nil {
				return err
			}
		default:
			f.file(path, info)
		}
	}
	return nil
}

// file takes a file, if it may be a manifest.
func (f *folder) file(path string, info fs.FileInfo) {
	switch {
	case !manifest(path):
		f.others = append(f.others, path)
	case !info.Mode().IsRegular():
		f.skipped = append(f.skipped, path+" is no regular file")
	case info.Size() > maxManifest:
		f.skipped = append(f.skipped, fmt.Sprintf("%s has more than %d MiB; split it, if it has manifests", path, maxManifest>>20))
	case !f.known(path):
		f.files = append(f.files, path)
	}
}

// manifest says whether the name is that of a file that may have manifests: also packed, and as a
// template, of which Terraform makes them, such as pool.yaml.tpl. Kustomization is one of the names
// that kustomize looks for.
func manifest(path string) bool {
	path = strings.TrimSuffix(path, ".gz")
	if slices.Contains([]string{".tpl", ".tftpl", ".tmpl"}, filepath.Ext(path)) {
		path = strings.TrimSuffix(path, filepath.Ext(path))
	}
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) || filepath.Base(path) == "Kustomization"
}

// known says whether the file or folder has been seen, maybe under another name.
func (f *folder) known(path string) bool {
	actual, err := filepath.EvalSymlinks(path)
	if err != nil {
		actual = path
	}
	if absolute, err := filepath.Abs(actual); err == nil {
		actual = absolute
	}
	was := f.seen[actual]
	f.seen[actual] = true
	return was
}
