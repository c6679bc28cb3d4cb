package toolchain

import "errors"

var (
	// ErrMissingPrerequisite means that a program which only the user can
	// install (Go itself) is not on PATH; the message says how to get it.
	ErrMissingPrerequisite = errors.New("missing prerequisite")
	// ErrUnknownTool means that the name given is not one of Tools().
	ErrUnknownTool = errors.New("unknown tool")
	// ErrChoice means that LAB_BINARIES or LAB_BINARIES_MIRROR has no meaning.
	ErrChoice = errors.New("wrong value")
	// ErrNotHere means that a tool is not to be had in the one way that LAB_BINARIES
	// allows; the message says what to do.
	ErrNotHere = errors.New("tool not found")
	// ErrNoRepository means that the working directory is not inside a checkout,
	// so the modules that tools are built from cannot be found.
	ErrNoRepository = errors.New("not inside a checkout of terraform-provider-karpenter")
)
