package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// envChromium names the Chromium, where it is not found by its usual names.
const envChromium = "CHROMIUM"

var errNoChromium = errors.New("no Chromium was found, in which the daemon's page is looked at: install one (Debian: apt-get install chromium), or name it by the environment variable " +
	envChromium + "; make test-programs installs Debian's where you are root")

// Find returns the Chromium of this machine.
func Find() (path string, err error) {
	for _, name := range []string{os.Getenv(envChromium), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errNoChromium
}

// Install returns the Chromium of this machine. Where there is none, it installs Debian's, which
// only root may; no registry of packages that anybody may use has one that runs everywhere.
func Install(ctx context.Context, w io.Writer) (path string, err error) {
	path, err = Find()
	if err == nil || os.Geteuid() != 0 {
		return path, err
	}
	apt, missing := exec.LookPath("apt-get")
	if missing != nil {
		return "", err
	}
	_, _ = fmt.Fprintln(w, "installing Debian's Chromium: once, a minute")
	for _, args := range [][]string{{"update", "-qq"}, {"install", "-qq", "--yes", "--no-install-recommends", "chromium"}} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if said, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w; apt-get %s: %w\n%s", errNoChromium, args[0], err, said)
		}
	}
	return Find()
}
