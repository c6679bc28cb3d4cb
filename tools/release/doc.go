// Command release makes what a release has beside the programs, and rehearses a release.
//
// GoReleaser, which .goreleaser.yml configures, runs it for the parts that it has no words for:
// the bill of material of each archive (bill), the statement of where the archives come from
// (provenance) and the daemon's chart (chart). `make release-check` rehearses the whole
// release without publishing anything (rehearse): the image goes to a registry on loopback, the
// checksums are signed with a key that is thrown away, and every file is checked.
//
// Invariants: a check says what is wrong, in which file, and is seen to fail by a test of its
// own. Nothing here reaches beyond the machine.
package main
