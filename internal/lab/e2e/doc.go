// Package e2e holds the laboratory's own end-to-end tests: a real control
// plane, the simulated cloud, and machines that join or do not. They need the
// programs of the control plane and some seconds, hence the build tag lab.
package e2e
