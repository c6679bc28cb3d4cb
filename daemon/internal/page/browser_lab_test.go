//go:build lab

package page

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/karpenterd/terraform-provider-karpenter/internal/lab/toolchain"
)

// pictures says that the pictures of the guide are made anew.
var pictures = flag.Bool("update", false, "write the pictures of docs/guides/page.md")

// picturesFolder has the pictures of the guide.
const picturesFolder = "docs/images"

// patience is how long a person may wait at most for what the page is to show.
const patience = 30 * time.Second

// browser is a Chromium with the page.
type browser struct {
	t    *testing.T
	ctx  context.Context
	root string
	axe  string
	// breakOff ends the connections that the browser has.
	breakOff func()
}

// chromium finds a Chromium.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Fatal("the page is looked at in a Chromium, and none was found: install one (Debian: apt-get install chromium), or name it by the environment variable CHROMIUM")
	return ""
}

// open serves the page, starts a Chromium and opens it there.
func open(t *testing.T, handler http.Handler) *browser {
	t.Helper()
	packages, err := toolchain.NPM(t.Context(), os.Stderr, "daemon/internal/page/web")
	if err != nil {
		t.Fatal(err)
	}
	axe, err := os.ReadFile(filepath.Join(packages, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := toolchain.Root()
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("hide-scrollbars", true), chromedp.Env("TZ=UTC"))
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close) // after the browser has gone, whose connections it would wait for
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	// The browser lives as long as the context of the first action.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 800), chromedp.Navigate(server.URL+Path)); err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, ctx: ctx, root: root, axe: string(axe), breakOff: server.CloseClientConnections}
}

// do does something in the browser.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// ask evaluates an expression in the page. A promise is waited for.
func ask[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%.200s: %v", expression, err)
	}
	return out
}

// text is what a person reads in the elements that the selector names.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return ask[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.innerText).join("\n")`, selector))
}

// reads waits until a person reads all of the words there.
func (b *browser) reads(selector string, words ...string) {
	b.t.Helper()
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		last = b.text(selector)
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

// labels waits until the accessible name of an element has the words: what a screen reader says.
func (b *browser) labels(selector string, words ...string) {
	b.t.Helper()
	last := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		last = ask[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.getAttribute("aria-label")).join("\n")`, selector))
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

// view opens a view by its link.
func (b *browser) view(name string) {
	b.t.Helper()
	link := fmt.Sprintf(`nav a[href="#/%s"]`, name)
	b.do(chromedp.Click(chromedp.CSS(link)), chromedp.WaitVisible(chromedp.CSS(link+"[aria-current=page]")))
}

// accessible has axe look for what keeps people from using what is shown now.
func (b *browser) accessible(what string) {
	b.t.Helper()
	type violation struct {
		ID     string `json:"id"`
		Impact string `json:"impact"`
		Nodes  []struct {
			HTML string `json:"html"`
			Why  string `json:"why"`
		} `json:"nodes"`
	}
	ask[int](b, b.axe+"\n;0")
	for _, v := range ask[[]violation](b, `axe.run().then((r) => r.violations.map((v) => ({ id: v.id, impact: v.impact, nodes: v.nodes.map((n) => ({ html: n.html.slice(0, 200), why: n.failureSummary })) })))`) {
		if v.Impact != "serious" && v.Impact != "critical" {
			continue
		}
		for _, n := range v.Nodes[:min(len(v.Nodes), 3)] {
			b.t.Errorf("%s: %s (%s): %s: %s", what, v.ID, v.Impact, n.HTML, n.Why)
		}
	}
}

// fits says whether everything has room at this width: nothing makes the page scroll sideways.
func (b *browser) fits(what string) {
	b.t.Helper()
	over := ask[[]string](b, `[...document.querySelectorAll("main *, .top *")].filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, nav, .chart, .cell")).map((e) => e.outerHTML.slice(0, 120))`)
	if len(over) > 0 {
		b.t.Errorf("%s: cut off at the right: %q", what, over[:min(len(over), 3)])
	}
}

// picture takes a picture, and keeps it where the pictures are made anew. The
// variable PICTURES names a folder for all of them.
func (b *browser) picture(name string, keep bool) {
	b.t.Helper()
	folder := os.Getenv("PICTURES")
	if keep && *pictures {
		folder = filepath.Join(b.root, filepath.FromSlash(picturesFolder))
	}
	if folder == "" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err := errors.Join(err, os.MkdirAll(folder, 0o750), os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

// everySize looks at what is shown now at each width and in both themes.
func (b *browser) everySize(name string) {
	b.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		b.do(media(theme))
		for _, size := range []struct{ wide, high int64 }{{1280, 800}, {390, 844}, {320, 640}, {3840, 2160}} {
			b.do(chromedp.EmulateViewport(size.wide, size.high))
			at := fmt.Sprintf("%s-%s-%d", name, theme, size.wide)
			b.fits(at)
			if size.wide == 1280 || size.wide == 390 {
				b.accessible(at)
			}
			b.picture("page-"+at, size.wide == 1280)
		}
	}
	b.do(chromedp.EmulateViewport(1280, 800), media("light"))
}

// media has the page shown in a theme.
func media(theme string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
		return err
	})
}
