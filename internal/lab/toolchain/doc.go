// Package toolchain finds or builds the programs that the laboratory runs and
// the tools that check the source.
//
// It owns where such a program may come from, in this order: the directory
// named by KUBEBUILDER_ASSETS, PATH (both only where the version fits), the
// cache, and last a build from one of the modules under tools/. Versions are
// written in those modules' go.mod files and nowhere else.
//
// The cache lies outside the repository, in the user's cache directory under
// karpenterd/tools, in a folder named by a digest of everything that decides
// what is built: a file that is there is complete and right, so it is used
// without being asked for its version. Builds happen under a lock in that
// folder and arrive by rename, so any number of processes may ask at once.
//
// With warm caches nothing here needs a network.
package toolchain
