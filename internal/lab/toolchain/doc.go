// Package toolchain finds, downloads or builds the programs that the laboratory runs
// and the tools that check the source.
//
// It owns where such a program may come from, in this order: the directory named by
// KUBEBUILDER_ASSETS, PATH (both only where the version fits), the cache, a download
// from the project's own site, and last a build from one of the modules under tools/.
// LAB_BINARIES narrows that. The versions that are built are written in those modules'
// go.mod files; the releases that stand in for a build are in official.go, each with the
// sum that its project has published.
//
// All that a command lacks is made side by side: downloads, and at most two go builds,
// of which each makes all programs of its module, because they share packages. A site
// that does not answer within three seconds, or is slow, is left alone without a word.
//
// The cache lies outside the repository, in the user's cache directory under
// karpenterd/tools, in folders named by a digest of everything that decides what is in
// them: a file that is there is complete and right, so it is used without being asked
// for its version. Builds and downloads happen under a lock in that folder and arrive by
// rename, so any number of processes may ask at once.
//
// With warm caches nothing here needs a network.
package toolchain
