package wire

import "encoding/json"

// Thing is something that an account holds, for tests that compare what was there
// before and after.
type Thing struct {
	// Identity is what another thing of the same name does not have, such as a RoleId
	// or the time of creation; empty if the service has nothing of the kind.
	Identity string
	// Content is all that a user can set, as JSON with sorted keys.
	Content string
}

// Text is what a thing holds, as its Content has it.
func Text(content any) string {
	text, err := json.Marshal(content)
	if err != nil {
		return err.Error() // cannot happen: strings, numbers, maps and lists of strings
	}
	return string(text)
}

// Given is a map that is never null in Content: so a reader knows that it is one.
func Given(of map[string]string) map[string]string {
	if of == nil {
		return map[string]string{}
	}
	return of
}
