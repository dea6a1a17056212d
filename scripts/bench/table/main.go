// Command table reads what benchmarks printed, of any number of runs, and prints one Markdown table:
// a line for each way to do a thing, with the median of its runs on every filesystem and how many
// times the first way's it is. Medians and their confidence are those of benchstat.
//
//	table RESULTS…
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
)

// row is one way to do a thing, in one unit.
type row struct{ what, side, unit string }

type results struct {
	rows    []row    // in the order in which they came
	places  []string // filesystems, in that order
	samples map[row]map[string][]float64
}

// shown are the units that are worth a row, with the word for them. Times are in nanoseconds.
var shown = map[string]string{
	"wall-ratio": "time by that of the bare calls", "cpu-ratio": "processor time by theirs",
	"sec/op": "", "ns/op": "", "cpu-ns/op": "processor time", "ns/lock": "per lock", "median-ns": "median", "p99-ns": "99 of 100",
	"longest/mean": "longest wait by the mean", "cpu-ns/turn": "processor time",
	"wakeups/turn": "wake-ups", "cpu-ns/waiter-second": "processor time of a waiter in a second",
	"wakeups/waiter-second": "wake-ups of a waiter in a second",
	"turns/s":               "per second", "busy/op": "busy answers",
	"bytes/lock": "bytes", "fds/lock": "descriptors", "goroutines/lock": "goroutines",
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: table RESULTS…")
		os.Exit(2)
	}
	all := results{samples: map[row]map[string][]float64{}}
	if err := all.read(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "table:", err)
		os.Exit(1)
	}
	all.print()
}

func (r *results) read(files []string) error {
	in := benchfmt.Files{Paths: files}
	for in.Scan() {
		switch rec := in.Result().(type) {
		case *benchfmt.Result:
			r.add(rec)
		case *benchfmt.SyntaxError:
			return rec
		}
	}
	return in.Err()
}

func (r *results) add(rec *benchfmt.Result) {
	base, parts := rec.Name.Parts()
	what, side := string(base), ""
	for _, part := range parts {
		if s, ok := strings.CutPrefix(string(part), "/side="); ok {
			side = s
		} else if strings.HasPrefix(string(part), "/") {
			what += string(part)
		}
	}
	place := rec.GetConfig("filesystem")
	if place == "" {
		place = "here"
	}
	for _, v := range rec.Values {
		unit, value := v.Unit, v.Value
		if v.OrigUnit != "" {
			unit, value = v.OrigUnit, v.OrigValue
		}
		if _, ok := shown[unit]; !ok || unit == "ns/op" && hasOwnMetric(rec) {
			continue
		}
		r.put(row{what, side, unit}, place, value)
	}
}

// hasOwnMetric reports that a benchmark measures another time than its own.
func hasOwnMetric(rec *benchfmt.Result) bool {
	for _, v := range rec.Values {
		unit := v.Unit
		if v.OrigUnit != "" {
			unit = v.OrigUnit
		}
		if word := shown[unit]; word != "" && unit != "cpu-ns/op" {
			return true
		}
	}
	return false
}

func (r *results) put(at row, place string, value float64) {
	if r.samples[at] == nil {
		r.samples[at] = map[string][]float64{}
		r.rows = append(r.rows, at)
	}
	known := false
	for _, p := range r.places {
		known = known || p == place
	}
	if !known {
		r.places = append(r.places, place)
	}
	r.samples[at][place] = append(r.samples[at][place], value)
}

func (r *results) print() {
	head, line := "| what | who |", "|---|---|"
	for _, place := range r.places {
		head += " " + place + " | × |"
		line += "---:|---:|"
	}
	fmt.Println(head)
	fmt.Println(line)
	for _, at := range r.rows {
		what := at.what
		if word := shown[at.unit]; word != "" {
			what += ", " + word
		}
		text := fmt.Sprintf("| %s | %s |", what, at.side)
		for _, place := range r.places {
			mine, first := r.median(at, place), r.median(r.first(at), place)
			if mine == nil {
				text += " | |"
				continue
			}
			text += " " + amount(at.unit, mine.Center) + spread(mine) + " | "
			if first != nil && first.Center != 0 && r.first(at) != at {
				text += fmt.Sprintf("%.2f", mine.Center/first.Center)
			}
			text += " |"
		}
		fmt.Println(text)
	}
}

// first is the way that the others of its kind are compared with.
func (r *results) first(at row) row {
	for _, other := range r.rows {
		if other.what == at.what && other.unit == at.unit {
			return other
		}
	}
	return at
}

func (r *results) median(at row, place string) *benchmath.Summary {
	values := r.samples[at][place]
	if len(values) == 0 {
		return nil
	}
	sample := benchmath.NewSample(values, &benchmath.DefaultThresholds)
	s := benchmath.AssumeNothing.Summary(sample, 0.95)
	return &s
}

// spread is benchstat's: how far the confidence interval reaches, in per cent.
func spread(s *benchmath.Summary) string { return " ±" + strings.TrimSpace(s.PctRangeString()) }

func amount(unit string, v float64) string {
	switch {
	case !strings.HasPrefix(unit, "ns/") && !strings.Contains(unit, "-ns"): // no time
		if v >= 1000 {
			return fmt.Sprintf("%.0f", v)
		}
		return fmt.Sprintf("%.3g", v)
	case v < 1e6:
		return fmt.Sprintf("%.1f µs", v/1e3)
	default:
		return fmt.Sprintf("%.2f ms", v/1e6)
	}
}
