package v1

import (
	"encoding/json"
	"fmt"
	"time"
)

// Never is the text of a NillableDuration that does not end.
const Never = "Never"

// NillableDuration is a duration or "Never". Its zero value is 0s.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
type NillableDuration struct {
	Duration time.Duration
	Never    bool // Duration is 0 then
}

// String gives the wire text: "Never" or Go's form of the duration.
func (d NillableDuration) String() string {
	if d.Never {
		return Never
	}
	return d.Duration.String()
}

// MarshalJSON implements json.Marshaler.
func (d NillableDuration) MarshalJSON() ([]byte, error) {
	return json.Marshal(d.String())
}

// UnmarshalJSON implements json.Unmarshaler.
func (d *NillableDuration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("parse duration: %w", err)
	}
	if text == Never {
		*d = NillableDuration{Never: true}
		return nil
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("parse duration: %w; write one such as 30s, 1h30m or Never", err)
	}
	*d = NillableDuration{Duration: parsed}
	return nil
}
