// Package catalog turns facts about EC2 instance types and about a region's
// market into the instance types that the decision core packs pods onto: their
// node labels, what a node of them can allocate, and their offerings.
//
// Invariants: Build is a pure function; its result is sorted by name and its
// offerings by zone and capacity type. No fact is looked up here: the caller
// brings them (package catalog/embedded has a set).
//
// Units: memory of a Fact in MiB, bandwidth in Mbit/s, prices in nano-dollars
// an hour; resources as in package quantity.
//
// The labels and formulas are those of Karpenter for the AL2023 image family,
// so that NodePools written for it select the same types.
package catalog
