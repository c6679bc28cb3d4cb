package provider

// Services is for the tests outside of the package.
func Services() []string { return services() }
