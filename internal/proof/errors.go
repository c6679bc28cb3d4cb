package proof

import "errors"

// What is wrong with a certificate. Each error comes with a detail that names
// the group, the offering or the amount.
var (
	// ErrForm is a certificate that contradicts itself: lists of different
	// lengths, negative prices, units below one, names given twice.
	ErrForm = errors.New("the certificate is not well formed")
	// ErrDemand is demand that the objects do not have, or that fits on no node.
	ErrDemand = errors.New("the certificate counts demand that is not there")
	// ErrExclusive is a set of pods without a common rule that keeps them apart.
	ErrExclusive = errors.New("pods that the certificate keeps apart may share a node")
	// ErrTogether is a group of pods that need not be on one node, though the
	// certificate says so.
	ErrTogether = errors.New("pods that the certificate keeps on one node may be on several")
	// ErrOffering is an offering that holds pods worth more than it costs.
	ErrOffering = errors.New("an offering holds pods that are worth more than it costs")
	// ErrUnpriced is an offering without a known price that the certificate does
	// not name.
	ErrUnpriced = errors.New("the certificate does not name an offering that has no price")
	// ErrBound is a bound that is higher than what the prices prove.
	ErrBound = errors.New("the bound is higher than the prices prove")
)
