package flock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain/flock"
)

func TestTry_OneHasTheLockUntilItGivesItBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := flock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flock.Try(path); !errors.Is(err, flock.ErrTaken) {
		t.Errorf("the second has it, too: %v", err)
	}
	unlock()
	again, err := flock.Try(path)
	if err != nil {
		t.Fatalf("given back: %v", err)
	}
	again()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the file does not stay: %v", err)
	}
}

func TestTry_AFolderThatIsNotThereIsNoTakenLock(t *testing.T) {
	if _, err := flock.Try(filepath.Join(t.TempDir(), "none", "lock")); err == nil || errors.Is(err, flock.ErrTaken) {
		t.Errorf("got %v", err)
	}
}
