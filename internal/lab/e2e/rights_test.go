//go:build lab

package e2e

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/install"
)

// rightsVariable names the folder in which the laboratories of this run note which rights
// their daemons used.
const rightsVariable = "LAB_E2E_RIGHTS"

// foldersOfRecords are the folders with used.txt, what the daemon uses of its rights: lines
// "verb resource", and lines of actions. Beside it, unused.txt has the rights that it does not
// use in each run, with the reasons. The tests of both packages hold what is granted to them.
func foldersOfRecords() map[string]string {
	return map[string]string{"kubernetes": "../../install/testdata", "aws": "../../awsspec/testdata"}
}

// noteRights notes what the daemon used of its rights, once the test of the laboratory ends.
func (d *daemonLab) noteRights(t *testing.T) {
	t.Cleanup(func() {
		requests, err := d.RequestsOf(install.DefaultNamespace, install.DefaultServiceAccount)
		if err != nil {
			t.Error(err)
		}
		used := map[string]bool{}
		for r := range requests {
			if r.Resource != "" {
				used[r.Verb+" "+strings.Trim(r.Group+"/"+r.Resource+"/"+r.Subresource, "/")] = true
			}
		}
		actions := map[string]bool{}
		for _, action := range d.Cloud.IAM.Used(d.options.RoleARN) {
			actions[action] = true
		}
		for kind, lines := range map[string]map[string]bool{"kubernetes": used, "aws": actions} {
			file, err := os.CreateTemp(os.Getenv(rightsVariable), kind+"-")
			if err != nil {
				t.Fatal(err)
			}
			_, err = file.WriteString(text(lines))
			if err := errors.Join(err, file.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}

func text(lines map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(lines)), "\n") + "\n"
}

// checkRights compares what a run of all tests used with the records: a right that is recorded
// and that nothing uses any more is one too many. With -update it writes the records. A run of
// some of the tests says nothing.
func checkRights(notes string) error {
	for _, name := range []string{"test.run", "test.skip", "test.list"} {
		if value := flag.Lookup(name).Value.String(); value != "" && (value != "." || name == "test.list") {
			return nil
		}
	}
	var faults []error
	for kind, folder := range foldersOfRecords() {
		files, err := filepath.Glob(filepath.Join(notes, kind+"-*"))
		if err != nil {
			return err
		}
		used, err := rightsIn(files...)
		if err != nil {
			return err
		}
		unused, err := rightsIn(filepath.Join(folder, "unused.txt"))
		if err != nil {
			return err
		}
		record := filepath.Join(folder, "used.txt")
		if flag.Lookup("update").Value.String() == "true" {
			maps.DeleteFunc(used, func(right string, _ bool) bool { return unused[right] })
			faults = append(faults, os.WriteFile(record, []byte(text(used)), 0o600))
			continue
		}
		recorded, err := rightsIn(record)
		if err != nil {
			return err
		}
		for right := range recorded {
			if !used[right] {
				faults = append(faults, fmt.Errorf("nothing used the right %q: take it away, or say in unused.txt beside %s why it is granted", right, record))
			}
		}
	}
	return errors.Join(faults...)
}

// rightsIn are the rights of files, without the reasons.
func rightsIn(files ...string) (map[string]bool, error) {
	rights := map[string]bool{}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(content)) {
			right, _, _ := strings.Cut(strings.TrimSpace(line), ": ")
			rights[right] = true
		}
	}
	delete(rights, "")
	return rights, nil
}
