package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// What npm reads: which packages, and of each the version and the sum of its archive.
const npmPackages, npmLock = "package.json", "package-lock.json"

// NPM installs the packages that the lock file of a folder of the checkout pins, into the user's
// cache, and returns the folder that has them in node_modules. npm itself fetches them, from the
// registry that the user has set for it, and checks the sums; no script of a package runs.
func NPM(ctx context.Context, w io.Writer, folder string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	texts, all := map[string][]byte{}, sha256.New()
	for _, name := range []string{npmPackages, npmLock} {
		if texts[name], err = os.ReadFile(filepath.Join(root, filepath.FromSlash(folder), name)); err != nil {
			return "", fmt.Errorf("npm packages read: %w", err)
		}
		all.Write(texts[name])
	}
	dir := filepath.Join(cache, "npm-"+hex.EncodeToString(all.Sum(nil)[:8]))
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("tool cache make: %w", err)
	}
	p := startProgress(w)
	err = npmInstall(ctx, p, dir, texts)
	p.end(err)
	return dir, err
}

// npmInstall installs under the folder's lock, unless it has been done. The packages arrive by
// rename, so they are complete where they are there.
func npmInstall(ctx context.Context, p *progress, dir string, texts map[string][]byte) error {
	unlock, err := lock(ctx, p, filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	installed := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(installed); err == nil {
		return nil
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("npm: %w: install Node.js, which has it (Debian: apt-get install npm): the page is bundled of packages that it fetches", ErrNotHere)
	}
	fresh, err := os.MkdirTemp(dir, "installing-")
	if err != nil {
		return fmt.Errorf("tool cache make: %w", err)
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(fresh, name), text, 0o600); err != nil {
			return fmt.Errorf("npm packages write: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
	cmd.Dir = fresh
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, said)
	}
	if err := os.Rename(filepath.Join(fresh, "node_modules"), installed); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("npm packages keep: %w", err)
	}
	return nil
}
