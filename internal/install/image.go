package install

import (
	"fmt"
	"regexp"
	"strings"
)

// Where releases of the daemon's image are published.
const (
	DefaultRegistry   = "ghcr.io"
	DefaultRepository = "karpenterd/karpenterd"
)

// Image names a container image: registry/repository:tag@digest. A digest decides what
// runs, whatever the tag says.
type Image struct {
	Registry   string // host, and port if it is not 443
	Repository string // path in the registry
	Tag        string // empty: none
	Digest     string // sha256: and 64 hexadecimal digits; empty: none
}

// ReleaseImage is the image of a release of the daemon by its tag, such as 0.1.0.
func ReleaseImage(version string) Image {
	return Image{Registry: DefaultRegistry, Repository: DefaultRepository, Tag: strings.TrimPrefix(version, "v")}
}

// releaseForm is how the versions of releases look; development versions look otherwise.
var releaseForm = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+(-(alpha|beta|rc)[0-9.]*)?$`)

// BuildImage is the image that a build of the product names: that of its digest, where it was
// made with one, else that of its release. It is not pinned for a build that is no release.
func BuildImage(version, digest string) Image {
	image := Image{Registry: DefaultRegistry, Repository: DefaultRepository, Digest: digest}
	if digest == "" && releaseForm.MatchString(version) {
		return ReleaseImage(version)
	}
	return image
}

// Pinned tells whether the image has a tag or a digest. Without either, a container
// runtime takes the tag latest, which is published nowhere.
func (i Image) Pinned() bool { return i.Tag != "" || i.Digest != "" }

// String is the reference, as a container runtime reads it.
func (i Image) String() string {
	text := i.Registry + "/" + i.Repository
	if i.Tag != "" {
		text += ":" + i.Tag
	}
	if i.Digest != "" {
		text += "@" + i.Digest
	}
	return text
}

// ParseImage reads a reference. Without a registry, it is in Docker's, as for container runtimes.
func ParseImage(reference string) Image {
	var i Image
	reference, i.Digest, _ = strings.Cut(reference, "@")
	if colon := strings.LastIndexByte(reference, ':'); colon > strings.LastIndexByte(reference, '/') {
		reference, i.Tag = reference[:colon], reference[colon+1:]
	}
	host, path, found := strings.Cut(reference, "/")
	if found && isHost(host) {
		i.Registry, i.Repository = host, path
		return i
	}
	i.Registry, i.Repository = "docker.io", reference
	return i
}

// isHost tells a registry from the first part of a path, as container runtimes do.
func isHost(text string) bool { return strings.ContainsAny(text, ".:") || text == "localhost" }

var (
	registryForm   = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?$`)
	repositoryForm = regexp.MustCompile(`^[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`)
	tagForm        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	digestForm     = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// CheckRegistry returns an error unless the text is a registry's host, with or without a port.
func CheckRegistry(text string) error {
	if !registryForm.MatchString(text) || !isHost(text) {
		return fmt.Errorf("registry %q: must be a host such as mirror.example.com or localhost:5000, without https:// and without a path: a path belongs to the repository", text)
	}
	return nil
}

// CheckRepository returns an error unless the text is the path of an image in a registry.
func CheckRepository(text string) error {
	if !repositoryForm.MatchString(text) {
		return fmt.Errorf("repository %q: must be the path of the image in its registry such as %s, in lower case and without tag or digest", text, DefaultRepository)
	}
	return nil
}

// CheckTag returns an error unless the text is a tag.
func CheckTag(text string) error {
	if !tagForm.MatchString(text) {
		return fmt.Errorf("tag %q: must be a tag such as 1.0.0: letters, digits, dots, dashes and underscores, at most 128; a digest has an argument of its own", text)
	}
	return nil
}

// CheckDigest returns an error unless the text is a digest.
func CheckDigest(text string) error {
	if !digestForm.MatchString(text) {
		return fmt.Errorf("digest %q: must be sha256: and 64 hexadecimal digits in lower case, as registries and make image print it", text)
	}
	return nil
}
