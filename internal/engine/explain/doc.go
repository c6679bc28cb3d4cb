// Package explain says why demand has no place: for each pool the first hurdle that
// no instance type of it takes, with what is lacking.
//
// Invariants: reasons are typed values of package plan; their text is made when it is
// shown. Every refusal is judged by requirements only: preferences have been given up
// before.
package explain
