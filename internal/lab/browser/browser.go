package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// patience is how long a person may wait at most for what the page is to show.
const patience = 30 * time.Second

// Browser is a Chromium that shows a page.
type Browser struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // it is the browser: chromedp keeps its own there
	axe string
}

// Open starts a Chromium, which ends with the test, and opens the address in it. The packages in
// the folder of the checkout have axe-core.
func Open(t testing.TB, address, packagesOf string) *Browser {
	t.Helper()
	program, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	packages, err := toolchain.NPM(t.Context(), os.Stderr, packagesOf)
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(filepath.Join(packages, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true), chromedp.Env("TZ=UTC"))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	// The browser lives as long as the context of the first action.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	return &Browser{t: t, ctx: ctx, axe: string(axe)}
}

// Do does something in the browser.
func (b *Browser) Do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// Ask evaluates an expression in the page. A promise is waited for.
func Ask[T any](b *Browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return out
}

// Text is what a person reads in the elements that the selector names.
func (b *Browser) Text(selector string) string {
	b.t.Helper()
	return Ask[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.innerText).join("\n")`, selector))
}

// Reads waits until a person reads all of the words there.
func (b *Browser) Reads(selector string, words ...string) {
	b.t.Helper()
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		last = b.Text(selector)
		missing := false
		for _, w := range words {
			missing = missing || !strings.Contains(last, w)
		}
		if !missing {
			return
		}
	}
	b.t.Fatalf("%s says\n%s\nand not all of %q", selector, last, words)
}

// Labels waits until the accessible name of an element has the words: what a screen reader says.
func (b *Browser) Labels(selector string, words ...string) {
	b.t.Helper()
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		last = Ask[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.getAttribute("aria-label")).join("\n")`, selector))
		for line := range strings.Lines(last) {
			fits := true
			for _, w := range words {
				fits = fits && strings.Contains(line, w)
			}
			if fits {
				return
			}
		}
	}
	b.t.Fatalf("no name of %s has all of %q:\n%s", selector, words, last)
}

// Follow clicks the link to the place in the page, and waits until it is the current one.
func (b *Browser) Follow(place string) {
	b.t.Helper()
	link := fmt.Sprintf(`nav a[href=%q]`, place)
	b.Do(chromedp.Click(chromedp.CSS(link)), chromedp.WaitVisible(chromedp.CSS(link+"[aria-current=page]")))
}

// Accessible has axe look for what keeps people from using what is shown now.
func (b *Browser) Accessible(what string) {
	b.t.Helper()
	type violation struct {
		ID     string `json:"id"`
		Impact string `json:"impact"`
		Nodes  []struct {
			HTML string `json:"html"`
			Why  string `json:"why"`
		} `json:"nodes"`
	}
	Ask[int](b, b.axe+"\n;0")
	for _, v := range Ask[[]violation](b, `axe.run().then((r) => r.violations.map((v) => ({ id: v.id, impact: v.impact, nodes: v.nodes.map((n) => ({ html: n.html.slice(0, 200), why: n.failureSummary })) })))`) {
		if v.Impact != "serious" && v.Impact != "critical" {
			continue
		}
		for _, n := range v.Nodes[:min(len(v.Nodes), 3)] {
			b.t.Errorf("%s: %s (%s): %s: %s", what, v.ID, v.Impact, n.HTML, n.Why)
		}
	}
}

// Fits says whether everything has room at this width: nothing makes the page scroll sideways.
func (b *Browser) Fits(what string) {
	b.t.Helper()
	over := Ask[[]string](b, `[...document.querySelectorAll("main *, .top *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .chart, .cell")).map((e) => e.outerHTML.slice(0, 120))`)
	if len(over) > 0 {
		b.t.Errorf("%s: cut off at the right: %q", what, over[:min(len(over), 3)])
	}
}

// Picture takes a picture into each of the folders that has a name.
func (b *Browser) Picture(name string, folders ...string) {
	b.t.Helper()
	folders = slices.DeleteFunc(folders, func(f string) bool { return f == "" })
	if len(folders) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	for _, folder := range folders {
		err = errors.Join(err, os.MkdirAll(folder, 0o750), os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600))
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// Size is that of the browser's window.
type Size struct{ Wide, High int64 }

// EverySize looks at what is shown now in both themes and at each size, from a small telephone to a
// wall: nothing is cut off, and axe finds nothing serious. Then it calls do.
func (b *Browser) EverySize(what string, do func(theme string, size Size)) {
	b.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		b.Do(media(theme))
		for _, size := range []Size{{1280, 800}, {390, 844}, {320, 640}, {3840, 2160}} {
			b.Do(chromedp.EmulateViewport(size.Wide, size.High))
			at := fmt.Sprintf("%s, %s, %d wide", what, theme, size.Wide)
			b.Fits(at)
			if size.Wide == 1280 || size.Wide == 390 { // the others are laid out as one of these
				b.Accessible(at)
			}
			do(theme, size)
		}
	}
	b.Do(chromedp.EmulateViewport(1280, 800), media("light"))
}

// media has the page shown in a theme.
func media(theme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
		return err
	})
}
