// Package shadow looks at a cluster that somebody else works for, Karpenter, a cluster-autoscaler
// or people with node groups, and says what the daemon would make of it. It decides nothing that
// anybody carries out: a look is the simulation of the command "simulate" (package simulate), and
// all that is written is the history, in the shadow's own ConfigMap.
package shadow
