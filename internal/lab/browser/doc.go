// Package browser owns a Chromium that reads a page as a person does, for tests: what is written
// there, what a screen reader says, whether everything has room, and whether axe-core finds what
// keeps people out.
//
// It takes the Chromium that CHROMIUM names, or one on PATH; cmd/chromium installs Debian's where
// there is none and may be. Invariant: a test waits for what is to
// be read, with a deadline, and never for a time.
package browser
