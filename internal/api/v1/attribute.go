package v1

import (
	"strings"
	"unicode"
)

// AttributeName is the name that the provider gives to the attribute of a field: kms_key_id for
// kmsKeyID, and http_protocol_ipv6 for httpProtocolIPv6.
func AttributeName(field string) string {
	letters := []rune(strings.ReplaceAll(field, "IPv6", "Ipv6"))
	var out strings.Builder
	for i, letter := range letters {
		begins := i > 0 && unicode.IsUpper(letter) &&
			(unicode.IsLower(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if begins {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(letter))
	}
	return out.String()
}
