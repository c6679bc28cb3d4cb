package provider

// Services is for the tests outside of the package.
func Services() []string { return services() }

// Settings gives, for each setting of the daemon, its attribute or why it has none.
func Settings() (attributes, without map[string]string) {
	return settingAttributes(), settingsWithout()
}
