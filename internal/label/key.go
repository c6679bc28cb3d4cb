package label

import "strconv"

// The functions of this file write texts that are equal if and only if the
// values are equal. The texts are keys of maps, and order values. They are not
// for people.

// AppendNumber appends n. Of two numbers that are not negative, the greater
// number gets the greater text, and no text is a prefix of another.
func AppendNumber(b []byte, n int64) []byte {
	u := uint64(n)
	if n < 0 {
		b = append(b, '-')
		u = -u
	}
	if u < 10 {
		return append(b, 'a', '0'+byte(u))
	}
	at := len(b)
	b = strconv.AppendUint(append(b, 0), u, 10)
	b[at] = 'a' + byte(len(b)-at-2)
	return b
}

// AppendText appends s so that no text is a prefix of another.
func AppendText(b []byte, s string) []byte {
	b = AppendNumber(b, int64(len(s)))
	return append(append(b, ':'), s...)
}

// AppendKey appends the key of the requirement.
func (r Requirement) AppendKey(b []byte) []byte {
	kind := byte('A')
	for i, set := range [3]bool{r.complement, r.bounded, r.absent} {
		if set {
			kind += 1 << i
		}
	}
	b = AppendText(append(b, kind), r.key)
	b = AppendNumber(b, int64(len(r.values)))
	for _, v := range r.values {
		b = AppendText(b, v)
	}
	if r.bounded {
		b = AppendNumber(AppendNumber(b, r.lower), r.upper)
	}
	return b
}

// AppendKey appends the key of the conjunction.
func (rs Requirements) AppendKey(b []byte) []byte {
	b = AppendNumber(b, int64(len(rs)))
	for _, r := range rs {
		b = r.AppendKey(b)
	}
	return b
}

// AppendKey appends the key of the labels.
func (l Labels) AppendKey(b []byte) []byte {
	b = AppendNumber(b, int64(len(l)))
	for _, x := range l {
		b = AppendText(AppendText(b, x.Key), x.Value)
	}
	return b
}
