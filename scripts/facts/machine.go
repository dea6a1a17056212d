package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// machine is what one machine said.
type machine struct {
	name  string
	facts map[string]fact // by path, such as machine.boot.id
	steps []trialStep
	errs  []error
}

// fact is a value, or why there is none.
type fact struct {
	value   string
	unknown string
}

// trialStep is a line of probate selftest --json.
type trialStep struct {
	Step   string `json:"step"`
	Status string `json:"status"`
	Seen   string `json:"seen"`
}

// required are the facts without which nothing can be proven, on every system.
var required = []string{
	"machine.os", "machine.kernel", "machine.boot.startedAt", "machine.machine.host",
	"filesystem.type", "filesystem.id", "filesystem.local",
	"self.pid", "self.presence", "self.state", "self.start", "self.startedAt", "self.name",
	"identity.v", "identity.os", "identity.pid", "identity.start", "identity.program",
}

// requiredOn are those that the system has beyond: only there may their absence not go unseen.
var requiredOn = map[string][]string{
	"linux": {"machine.boot.id", "machine.machine.id", "machine.namespaces.pid",
		"machine.namespaces.time", "machine.namespaces.pidInitial", "machine.procfs",
		"self.threads", "identity.boot", "identity.pidns", "identity.timens"},
	"darwin":  {"machine.boot.id", "machine.machine.id", "identity.boot"},
	"windows": {"machine.boot.id", "machine.machine.id", "identity.boot"},
}

// must are the values that are the same wherever the program works.
var must = map[string]string{"self.presence": "running", "filesystem.local": "true",
	"machine.procfs": "trustworthy"}

// requiredSteps must be there and be ok; the others of a self-test tell of the machine.
var requiredSteps = []string{
	"hold", "crash", "pause", "late write", "fence", "log", "leftovers",
}

func read(folder, name string) machine {
	m := machine{name: name, facts: map[string]fact{}}
	text, err := os.ReadFile(filepath.Join(folder, "probe.json"))
	if err == nil {
		err = m.readFacts(text)
	}
	m.note("probe.json", err)
	text, err = os.ReadFile(filepath.Join(folder, "selftest.jsonl"))
	if err == nil {
		err = m.readSteps(text)
	}
	m.note("selftest.jsonl", err)
	return m
}

func (m *machine) note(file string, err error) {
	if err != nil {
		m.errs = append(m.errs, fmt.Errorf("%s: %w", file, err))
	}
}

func (m *machine) readFacts(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tree map[string]any
	if err := d.Decode(&tree); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	m.flatten("", tree)
	return nil
}

// flatten takes the facts out of a tree: a fact is an object with a value or an unknown, and so is
// a bare value. Lists tell how something was read and are no facts.
func (m *machine) flatten(path string, node any) {
	switch v := node.(type) {
	case map[string]any:
		if why, is := v["unknown"].(string); is {
			m.facts[path] = fact{unknown: why}
			return
		}
		if value, is := v["value"]; is {
			m.flatten(path, value)
			return
		}
		for key, child := range v {
			m.flatten(strings.TrimPrefix(path+"."+key, "."), child)
		}
	case string:
		m.facts[path] = fact{value: v}
	case json.Number:
		m.facts[path] = fact{value: v.String()}
	case bool:
		m.facts[path] = fact{value: strconv.FormatBool(v)}
	}
}

func (m *machine) readSteps(text []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		var s trialStep
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			return err
		}
		m.steps = append(m.steps, s)
	}
	return lines.Err()
}

func (m *machine) step(name string) (trialStep, bool) {
	for _, s := range m.steps {
		if s.Step == name {
			return s, true
		}
	}
	return trialStep{}, false
}

// problems are what this machine must know and does not, in a steady order.
func (m *machine) problems() (list []string) {
	for _, err := range m.errs {
		list = append(list, err.Error())
	}
	for _, path := range slices.Concat(required, requiredOn[m.facts["machine.os"].value]) {
		f, said := m.facts[path]
		want := must[path]
		switch {
		case !said:
			list = append(list, path+" is missing")
		case f.unknown != "":
			list = append(list, path+" is unknown: "+f.unknown)
		case f.value == "":
			list = append(list, path+" is empty")
		case want != "" && f.value != want:
			list = append(list, fmt.Sprintf("%s is %q, not %q", path, f.value, want))
		}
	}
	for _, name := range requiredSteps {
		switch s, is := m.step(name); {
		case !is:
			list = append(list, "self-test: no step "+name)
		case s.Status != "ok":
			list = append(list, fmt.Sprintf("self-test: %s: %s: %s", name, s.Status, s.Seen))
		}
	}
	for _, s := range m.steps {
		if s.Status == "off" && !slices.Contains(requiredSteps, s.Step) {
			list = append(list, fmt.Sprintf("self-test: %s: off: %s", s.Step, s.Seen))
		}
	}
	return list
}
