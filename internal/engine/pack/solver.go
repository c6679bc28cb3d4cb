package pack

// Solver answers one problem after the other, within the units of work that it may
// do. It continues with the answers of a Solver before: the same plan asks the same
// questions in the same order.
type Solver struct {
	answers []Answer // first those known from before
	asked   int      // how many of them have been used
	left    int      // units of work that may still be done
	units   int      // of work done for the plan so far, by Solvers before too
	cut     bool     // there was more to do
}

// Answer is what a Solver makes of one problem.
type Answer struct {
	Result
	done bool
}

// NewSolver returns a Solver that knows the answers and may do so many units of
// work. Before says how many units earlier Solvers did for the same plan.
func NewSolver(answers []Answer, left, before int) *Solver {
	return &Solver{answers: answers, left: left, units: before}
}

// Solve packs, and makes so many steps of polishing. It returns false where the
// Solver may not do as much; then nothing more can be planned with it.
func (s *Solver) Solve(p Problem, polish int) (Result, bool) {
	if s.asked == len(s.answers) {
		s.answers = append(s.answers, Answer{})
	}
	a := &s.answers[s.asked]
	s.asked++
	if !a.done && s.left > 0 {
		before := a.Searches + a.Steps
		a.Result, a.done = Search(p, a.Result, Work{Trials: s.left})
		left := s.left - (a.Searches + a.Steps - before)
		if a.done && polish > a.Steps && len(a.Bins) > 0 {
			a.done = false
			if left > 0 {
				a.Result, a.done = Polish(p, a.Result, Work{Trials: min(left, polish-a.Steps)})
				a.done = a.done || a.Steps == polish
			}
		}
		s.left -= a.Searches + a.Steps - before
	}
	s.units += a.Searches + a.Steps
	s.cut = !a.done
	return a.Result, a.done
}

// Cut says whether a problem was left without an answer.
func (s *Solver) Cut() bool { return s.cut }

// Left returns the units of work that may still be done.
func (s *Solver) Left() int { return s.left }

// Units returns the work done for the plan so far, in units.
func (s *Solver) Units() int { return s.units }

// Answers returns the answers so far, for a Solver that continues.
func (s *Solver) Answers() []Answer { return s.answers }
