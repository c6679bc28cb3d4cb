package legacy

import (
	"fmt"
	"strings"
)

// What follows warns of texts that an API server takes and AWS does not know.

// profileName warns of an instance profile that is an ARN.
func (c *converter) profileName(s subject, at, name string) {
	if strings.HasPrefix(name, "arn:") && !templated(name) {
		c.lose(s, at, name+" is an ARN, and EC2 is told a name: nothing can be launched", "write "+name[strings.LastIndex(name, "/")+1:])
	}
}

// singleIDs warns of terms that have several ids in one text.
func singleIDs[T any](c *converter, s subject, at string, terms []T, id func(T) string) {
	for i, t := range terms {
		if text := id(t); !templated(text) && strings.ContainsAny(text, ", ") {
			c.lose(s, fmt.Sprintf("%s[%d].id", at, i), fmt.Sprintf("%q is no id and selects nothing", text), "write one id, and a term for each")
		}
	}
}
