// Package parts has a test for each end that a test comes to.
package parts

import (
	"os"
	"testing"
)

func TestFails(t *testing.T) { t.Error("for a reason") }

func TestDies(*testing.T) { os.Exit(3) }

func TestPasses(t *testing.T) {
	if _, err := os.Stat("parts_test.go"); err != nil {
		t.Error(err)
	}
}
