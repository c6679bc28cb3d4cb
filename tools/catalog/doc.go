// Command catalog refreshes the committed facts that the embedded catalogue is
// generated from:
//
//	go run . -karpenter FOLDER -regions us-east-1,eu-west-1
//
// It asks EC2 for instance types, the zones that offer them and the spot
// prices, and the Pricing service for the on-demand prices; at AWS, or with
// -endpoint at anything that answers the same calls. With -prices=tables the
// on-demand prices, and with a spot history that is empty or older than EC2
// keeps it the spot prices too, come from published tables and rules instead;
// estimate.go says which. Branch interface limits and, where the
// documentation is better than the API, network bandwidth have no API and come
// from published tables always.
//
// EC2 stops listing families that it does not sell to every account any more, while
// pools still name them. With -older-endpoint an earlier recording of EC2's
// answers adds the families of -older-families: facts and offered zones. What EC2
// lists itself stays as it is. Prices are found as for other types.
//
// FOLDER is the source of a release of karpenter-provider-aws, whose tables of prices and
// bandwidths are read: that of the peer. `go mod download -json
// github.com/aws/karpenter-provider-aws`, run in tools/peer, prints it as Dir.
//
// With -renew it asks nobody: it writes anew what comes from tables in the facts that are
// there, and prices.tsv, the on-demand prices of regions that nobody has asked EC2 about.
//
// Every group of facts is written with its source and date.
package main
