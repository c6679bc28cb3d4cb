package toolchain

import (
	"fmt"
	"net/url"
	"os"
	"strings"
)

// The variables by which somebody says where programs come from.
const (
	envBinaries = "LAB_BINARIES"
	envMirror   = "LAB_BINARIES_MIRROR"
)

// binaries says what may be done for a tool that is neither found nor cached.
type binaries string

const (
	anyWay       binaries = ""         // download it where the project's site can be reached, else build it
	buildOnly    binaries = "build"    // build it, and ask no site
	downloadOnly binaries = "download" // download it, or fail
	pathOnly     binaries = "path"     // fail: only what is found is used
)

// chosen reads what somebody has chosen.
func chosen() (binaries, string, error) {
	choice := binaries(os.Getenv(envBinaries))
	switch choice {
	case anyWay, buildOnly, downloadOnly, pathOnly:
	default:
		return "", "", fmt.Errorf("%s=%s: %w: use build, download or path, or leave it empty to download what can be downloaded and build the rest", envBinaries, choice, ErrChoice)
	}
	mirror := os.Getenv(envMirror)
	if mirror == "" {
		return choice, "", nil
	}
	if u, err := url.Parse(mirror); err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http") {
		return "", "", fmt.Errorf("%s=%s: %w: it must be an address as https://mirror.example.com/folder", envMirror, mirror, ErrChoice)
	}
	return choice, mirror, nil
}
