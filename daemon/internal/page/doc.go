// Package page owns the daemon's live page: what it shows, and how browsers get it. What it shows
// follows from the input of the loop's last Step and from what the loop's recorder is told:
// engine.Standings says why nodes stay, as it does for "explain", and nothing is decided here.
//
// Invariants: the snapshot is worked out only while somebody looks, at most once in lookEvery while a page is open, and
// less than a fiftieth of a core goes into it, whatever the size of the cluster and however many look.
// Handler answers only requests that name this machine as their host, because the page names pods.
// Units: prices are dollars an hour, times are Unix seconds, shares are percent.
//
// The sources of what the browser runs are in web/, and their bundle, which tools/page makes, is in
// dist/ and in the binary.
package page
