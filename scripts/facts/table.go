package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// factTable prints one row for each fact and one column for each machine.
func factTable(w io.Writer, machines []machine) {
	known := map[string]bool{}
	for _, m := range machines {
		for path := range m.facts {
			known[path] = true
		}
	}
	for _, path := range required { // what is nowhere has its row too
		known[path] = true
	}
	for _, m := range machines {
		for _, path := range requiredOn[m.facts["machine.os"].value] {
			known[path] = true
		}
	}
	var paths []string
	for path := range known {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	header(w, "fact", machines)
	for _, path := range paths {
		cells := []string{"`" + path + "`"}
		for _, m := range machines {
			f, said := m.facts[path]
			switch {
			case !said:
				cells = append(cells, "")
			case f.unknown != "":
				cells = append(cells, "unknown: "+f.unknown)
			default:
				cells = append(cells, f.value)
			}
		}
		row(w, cells)
	}
	fmt.Fprintln(w)
}

// stepTable does the same for the steps of the self-test.
func stepTable(w io.Writer, machines []machine) {
	var names []string
	for _, m := range machines {
		for _, s := range m.steps {
			if !slices.Contains(names, s.Step) {
				names = append(names, s.Step)
			}
		}
	}
	header(w, "self-test", machines)
	for _, name := range names {
		cells := []string{name}
		for _, m := range machines {
			s, is := m.step(name)
			switch {
			case !is:
				cells = append(cells, "")
			case s.Status == "ok" || s.Status == "info":
				cells = append(cells, s.Seen)
			default:
				cells = append(cells, "**"+s.Status+"**: "+s.Seen)
			}
		}
		row(w, cells)
	}
}

func header(w io.Writer, what string, machines []machine) {
	cells, rule := []string{what}, []string{"---"}
	for _, m := range machines {
		cells, rule = append(cells, m.name), append(rule, "---")
	}
	row(w, cells)
	row(w, rule)
}

var oneCell = strings.NewReplacer("|", "\\|", "\r\n", " ", "\n", " ", "<", "&lt;")

func row(w io.Writer, cells []string) {
	for i, c := range cells {
		cells[i] = oneCell.Replace(c)
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
}
