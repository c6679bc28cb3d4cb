package fetch

import "errors"

var (
	// ErrUnavailable means that there is nothing to be had from the address now: nobody
	// answers, the file is not there, or it comes too slowly or not to its end.
	ErrUnavailable = errors.New("not to be had")
	// ErrSum means that something else came than what the project has published.
	ErrSum = errors.New("wrong sum")
	// ErrArchive means that the archive, with the right sum, does not hold what it should.
	ErrArchive = errors.New("wrong archive")
)
