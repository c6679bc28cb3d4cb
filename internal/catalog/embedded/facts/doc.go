// Package facts reads and writes the committed text files that the embedded
// catalogue is made of: types.tsv with what holds everywhere, one <region>.tsv
// per region with what is sold there, prices.tsv and volumes.tsv.
//
// prices.tsv has on-demand prices, in the currency of each region, of regions whose offerings
// nobody has recorded: one column per region, each of which has a line "region" with the date
// of its prices.
//
// volumes.tsv has the list prices of EBS volumes, in dollars a month: one line per
// region, and one column per volume type (of a GiB) and kind of provisioned
// performance (of an IOPS, of a MiB/s). It is written by hand. What has no price in a
// region costs as in us-east-1.
//
// Each other file has three parts, each line's cells separated by tabs:
//
//	source	<group>	<date>	<text>	where a group of facts is from, one line each
//	zone	<id>	<name>	region files only
//	spot	estimated	region files only, if the spot prices are no history
//	<column names>
//	<one instance type a line, sorted by name>
//
// "-" is an absent value. Prices are dollars an hour; "~" before an on-demand
// price marks an estimate. A type's zones are one letter each, "a" being the
// first zone line, and its spot prices follow in the same order.
//
// Invariants: Decode(Encode(x)) is x where there is an Encode, and Encode is deterministic, so that a
// refresh that changes nothing leaves the files as they are.
package facts
