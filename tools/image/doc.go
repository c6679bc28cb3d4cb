// Command image builds the daemon's container image with ko, for amd64, arm64 or both, on a base
// that base.txt names by digest, and checks what came out: a user that is not root, the CA
// roots where Go looks for them, no shell. It can push and sign the image. Two builds of one
// source on one base for the same architectures give one digest, wherever they happen.
//
// It prints the digest as IMAGE_DIGEST=sha256:..., which a release of the provider pins.
// `make image` runs it. `make image-base` lets it renew the digest of the base. For rehearsals
// and tests it serves a registry on loopback with a base made here.
package main
