// Command page bundles what the daemon's page runs in a browser, of daemon/internal/page/web and of
// the packages that its lock file pins, into daemon/internal/page/dist. The same sources give the
// same bytes. With -check it also has TypeScript check the types, which needs Node.js.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// What is bundled, and where to.
const sources, bundle = "daemon/internal/page/web", "daemon/internal/page/dist"

// licences has the licences of the packages.
const licences = "licences.txt"

var errBundle = errors.New("the page cannot be bundled")

func main() {
	check := flag.Bool("check", false, "check the types, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, *check)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, check bool) error {
	root, err := toolchain.Root()
	if err != nil {
		return err
	}
	packages, err := toolchain.NPM(ctx, os.Stderr, sources)
	if err != nil {
		return err
	}
	// Beside the packages, so that each import is found there and no path of this machine matters.
	dir, err := os.MkdirTemp(packages, "bundling-")
	if err != nil {
		return fmt.Errorf("page bundle: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, sources))); err != nil {
		return fmt.Errorf("page sources copy: %w", err)
	}
	if check {
		if err := types(ctx, packages, dir); err != nil {
			return err
		}
	}
	if err := write(dir, filepath.Join(root, bundle)); err != nil {
		return err
	}
	return rest(dir, packages, filepath.Join(root, bundle))
}

// rest writes what is not bundled: what stays as it is, and the licences of the packages whose code
// is in the bundle, as these ask for.
func rest(dir, packages, to string) error {
	texts := map[string][]byte{}
	for _, name := range []string{"index.html", "icon.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("page read: %w", err)
		}
		texts[name] = text
	}
	for _, name := range []string{"preact", "uplot"} {
		text, err := os.ReadFile(filepath.Join(packages, "node_modules", name, "LICENSE"))
		if err != nil {
			return fmt.Errorf("licence read: %w", err)
		}
		texts[licences] = fmt.Appendf(texts[licences], "The page has code of %s:\n\n%s\n", name, text)
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(to, name), text, 0o600); err != nil {
			return fmt.Errorf("page write: %w", err)
		}
	}
	return nil
}

// types has TypeScript check the sources.
func types(ctx context.Context, packages, dir string) error {
	cmd := exec.CommandContext(ctx, "node", filepath.Join(packages, "node_modules", "typescript", "bin", "tsc"), "--noEmit", "-p", dir)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("types check: %w\n%s", err, strings.ReplaceAll(string(said), dir, sources))
	}
	return nil
}

// write bundles script and style.
func write(dir, to string) error {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{"src/app.tsx", "src/app.css"}, AbsWorkingDir: dir, Outdir: to, Bundle: true, Write: true,
		EntryNames: "[name]", Target: api.ES2022, Format: api.FormatIIFE, Charset: api.CharsetUTF8,
		MinifySyntax: true, MinifyWhitespace: true, MinifyIdentifiers: true, LegalComments: api.LegalCommentsInline,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", TsconfigRaw: "{}", LogLevel: api.LogLevelSilent,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%w: %s", errBundle, strings.Join(api.FormatMessages(result.Errors, api.FormatMessagesOptions{Kind: api.ErrorMessage}), "\n"))
	}
	return nil
}
