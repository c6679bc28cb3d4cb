// Command image builds the daemon's container image with ko, for amd64 and arm64, on a base
// that is named by digest, and checks what came out: a user that is not root, the CA roots
// where Go looks for them, no shell. It can push and sign the image. Two builds of one
// source on one base give one digest, wherever they happen.
//
// It prints the digest as IMAGE_DIGEST=sha256:..., which a release of the provider pins.
// `make image` runs it.
package main
