package wire

// Thing is something that an account holds, for tests that compare what was there
// before and after.
type Thing struct {
	// Identity is what another thing of the same name does not have, such as a RoleId
	// or the time of creation; empty if the service has nothing of the kind.
	Identity string
	// Content is all that a user can set, as JSON with sorted keys.
	Content string
}
