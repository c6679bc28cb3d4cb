package wire

import (
	"encoding/json"
	"strconv"
	"time"
)

// Epoch is a time as the JSON protocols write it: seconds since 1970 with
// milliseconds as the fraction.
type Epoch time.Time

// MarshalJSON writes the number.
func (e Epoch) MarshalJSON() ([]byte, error) {
	ms := time.Time(e).UnixMilli()
	return strconv.AppendFloat(nil, float64(ms)/1000, 'f', -1, 64), nil
}

// Decode reads the JSON body of the request into out; an empty body is an
// empty object. The error is the SerializationException that the real
// services answer.
func (r *Request) Decode(out any) error {
	if len(r.Body) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.Body, out); err != nil {
		return Errorf("SerializationException", "the request body is not what %s expects: %v", r.Action, err)
	}
	return nil
}
