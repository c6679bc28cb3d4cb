// Package explain says why demand has no place. For each pool it names the first
// hurdle that no instance type of the pool clears, and what is missing.
//
// Invariants: reasons are typed values of package plan, which makes their text when
// it is shown. Refusals look at requirements only, because the demand has given up
// its preferences by then.
package explain
