package quantity

import (
	"strings"
	"time"
)

// SpellDuration writes a duration as people do: 720h, where Go writes 720h0m0s.
func SpellDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// SpellAmount writes an amount in Kubernetes' own form as people do: 1000, where that form is 1k.
func SpellAmount(canonical string) string {
	if thousands, is := strings.CutSuffix(canonical, "k"); is {
		return thousands + "000"
	}
	return canonical
}
