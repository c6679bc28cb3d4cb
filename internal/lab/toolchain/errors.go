package toolchain

import "errors"

var (
	// ErrMissingPrerequisite means that a program which only the user can
	// install (Go itself) is not on PATH; the message says how to get it.
	ErrMissingPrerequisite = errors.New("missing prerequisite")
	// ErrUnknownTool means that the name given is not one of Tools().
	ErrUnknownTool = errors.New("unknown tool")
	// ErrNoRepository means that the working directory is not inside a checkout,
	// so the modules that tools are built from cannot be found.
	ErrNoRepository = errors.New("not inside a checkout of terraform-provider-karpenter")
)
