package proof

import "errors"

// What is wrong with a certificate. Each comes with a detail that names the
// group, offering or amount.
var (
	// ErrForm is a certificate that contradicts itself: lists of different
	// lengths, negative prices, units below one, names given twice.
	ErrForm = errors.New("the certificate is not well formed")
	// ErrDemand is demand that the objects do not have, or that fits nowhere.
	ErrDemand = errors.New("the certificate counts demand that is not there")
	// ErrApart is a set of pods to keep apart that have no rule in common which does.
	ErrApart = errors.New("pods that the certificate keeps apart may share a node")
	// ErrTogether is a group said to be on one node that may be on several.
	ErrTogether = errors.New("pods that the certificate keeps on one node may be on several")
	// ErrOffering is an offering that carries pods worth more than it costs.
	ErrOffering = errors.New("pods worth more than an offering costs fit on it")
	// ErrUnpriced is an offering without a known price that is not named.
	ErrUnpriced = errors.New("the certificate is silent about an offering without a price")
	// ErrBound is a bound beyond what the prices prove.
	ErrBound = errors.New("the bound is higher than the prices prove")
)
