// Package bench measures the decision core on the catalogue of a real region and
// on demand that is drawn anew for every iteration. It owns the cases (what is
// asked, what is required of the answer), the demand, the figures read off a plan,
// and what is kept of a comparison with the peer; the benchmarks and the tests that
// hold plans to the requirements run the same cases.
//
// Times are of one Step on a built index, single-threaded, with what hangs on
// pools and classes cached by an earlier Step, as it is in the daemon. The
// garbage of making the demand is collected before the clock starts. Money is in
// nano-dollars an hour, sizes in millicores and bytes. No test depends on time.
package bench
