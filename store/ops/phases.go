package ops

import (
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// Phase is a stage of an operation. The names are the caller's.
type Phase string

// Phases is the small state machine of a store's operations.
//
//	ops.Phases{
//		Initial:  "planned",
//		Next:     map[ops.Phase][]ops.Phase{
//			"planned":  {"applying", "cancelled"},
//			"applying": {"applied", "failed"},
//		},
//		Terminal: []ops.Phase{"applied", "failed", "cancelled"},
//	}
//
// A phase may always be kept by a change of other things. A terminal phase is the end: the
// operation never changes again, and its environment is free. A phase on disk that is not declared
// here, by a later version of the program say, is never taken for terminal.
type Phases struct {
	Initial  Phase             // of a new operation
	Next     map[Phase][]Phase // every phase that is not terminal, and those that may follow it
	Terminal []Phase
}

const maxPhase = 100 // bytes

// validate says what is wrong with the declaration. Every phase must be reachable, and must reach
// an end: what can never finish would keep its environment for ever.
func (p Phases) validate() error {
	for _, name := range p.Terminal {
		if _, both := p.Next[name]; both {
			return fmt.Errorf("phase %q is terminal, and Next has phases that follow it", name)
		}
	}
	if _, ok := p.Next[p.Initial]; !ok {
		return fmt.Errorf("the initial phase %q is not in Next", p.Initial)
	}
	for name, following := range p.Next {
		for _, to := range following {
			if !p.declared(to) {
				return fmt.Errorf("phase %q, which may follow %q, is neither in Next nor terminal",
					to, name)
			}
		}
	}
	reached := p.from(p.Initial)
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(p.Next)), p.Terminal) {
		switch {
		case name == "" || len(name) > maxPhase || !utf8.ValidString(string(name)):
			return fmt.Errorf("phase %q: a name has 1 to %d bytes of UTF-8", name, maxPhase)
		case !reached[name]:
			return fmt.Errorf("phase %q cannot be reached from %q", name, p.Initial)
		case !slices.ContainsFunc(p.Terminal, func(end Phase) bool { return p.from(name)[end] }):
			return fmt.Errorf("phase %q leads to no terminal phase", name)
		}
	}
	return nil
}

// from returns the phases that can be reached from one, itself included.
func (p Phases) from(start Phase) map[Phase]bool {
	seen := map[Phase]bool{start: true}
	for todo := []Phase{start}; len(todo) > 0; {
		var name Phase
		name, todo = todo[0], todo[1:]
		for _, to := range p.Next[name] {
			if !seen[to] {
				seen[to] = true
				todo = append(todo, to)
			}
		}
	}
	return seen
}

func (p Phases) terminal(name Phase) bool { return slices.Contains(p.Terminal, name) }

func (p Phases) declared(name Phase) bool {
	_, ok := p.Next[name]
	return ok || p.terminal(name)
}

func (p Phases) allowed(from, to Phase) bool {
	following, ok := p.Next[from]
	return ok && (from == to || slices.Contains(following, to))
}

func (p Phases) clone() Phases {
	next := make(map[Phase][]Phase, len(p.Next))
	for name, following := range p.Next {
		next[name] = slices.Clone(following)
	}
	return Phases{Initial: p.Initial, Next: next, Terminal: slices.Clone(p.Terminal)}
}
