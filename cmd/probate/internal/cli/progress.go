package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/probate-dev/probate/identity"
)

// progress is one line on a terminal that is written anew again and again. A nil one says nothing.
type progress struct {
	w     io.Writer
	width int // of what stands there now
}

// show says how many locks were found so far.
func (p *progress) show(seen map[identity.Verdict]int) {
	if p == nil {
		return
	}
	total := 0
	for _, n := range seen {
		total += n
	}
	p.line(fmt.Sprintf("probate: %d locks so far: %d alive, %d gone, %d unknown", total,
		seen[identity.Alive], seen[identity.Gone], seen[identity.Unknown]))
}

// line puts text in the place of what stands there: blanks and carriage returns work on every
// terminal.
func (p *progress) line(text string) {
	n := utf8.RuneCountInString(text)
	fmt.Fprint(p.w, "\r"+text+strings.Repeat(" ", max(0, p.width-n)))
	p.width = n
}

// clear takes the line away, so that something else can be written.
func (p *progress) clear() {
	if p == nil || p.width == 0 {
		return
	}
	fmt.Fprint(p.w, "\r"+strings.Repeat(" ", p.width)+"\r")
	p.width = 0
}
