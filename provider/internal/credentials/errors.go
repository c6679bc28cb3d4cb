package credentials

import "errors"

// ErrProfile says that a profile is not in the shared configuration and credentials files.
var ErrProfile = errors.New("the profile is not in the shared configuration files")

// ErrFile says that a shared configuration or credentials file cannot be read.
var ErrFile = errors.New("the file cannot be read")

// ErrRegion says that nothing names a region.
var ErrRegion = errors.New("no AWS region is set")

// ErrAssumeRole says that STS did not give credentials of a role in assume_role or
// assume_role_with_web_identity.
var ErrAssumeRole = errors.New("the role cannot be assumed")

// ErrNone says that there are no credentials in any of the places that are searched.
var ErrNone = errors.New("no AWS credentials were found")
