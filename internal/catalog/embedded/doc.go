// Package embedded holds the catalogue that is compiled into the binary: the
// facts of every EC2 instance type and the markets of the regions known, prices of EBS volumes
// included. Of the partitions aws-us-gov and aws-cn it has prices alone.
//
// The text files in facts/ are the source; blob/ has them compressed, written
// by gen. Each file is decoded once, when first asked for.
//
// Invariants: what Load returns is shared and must not be changed. Every group
// of facts names its source and date in Market.Sources; estimates are marked.
package embedded
