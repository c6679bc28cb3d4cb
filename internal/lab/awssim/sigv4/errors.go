package sigv4

import "errors"

var (
	// ErrMissing says: the request carries no signature at all.
	ErrMissing = errors.New("request is not signed")
	// ErrIncomplete says: there is a signature, but a part of it is absent or malformed.
	ErrIncomplete = errors.New("request signature is incomplete")
	// ErrMismatch says: the signature does not fit the request and the secret.
	ErrMismatch = errors.New("request signature does not match")
	// ErrBody says: the body's hash is not the one that the request declares.
	ErrBody = errors.New("request body does not match its declared hash")
)
