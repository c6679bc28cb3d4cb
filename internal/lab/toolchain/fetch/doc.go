// Package fetch downloads programs that their projects have published, and takes
// them out of their archives.
//
// It owns when a download is given up, and that nothing is used which does not have
// its sum: an archive is read only after all of it has come and its sum is right, only
// the files that are asked for are taken out of it, and what is left unfinished is
// removed. Which programs there are, and their sums, is for the caller to say.
package fetch
