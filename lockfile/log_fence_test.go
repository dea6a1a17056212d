package lockfile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/probate-dev/probate/fence"
)

// The largest number of a log is the one that taking apart every line finds, whatever the lines
// are.
func TestLargestFence(t *testing.T) {
	keys := []string{`"fence"`, `"Fence"`, `"FENCE"`, `"f\u0065nce"`, `"fences"`, `"pid"`, `"\"fence"`}
	values := []string{`7`, `12`, ` 12`, `"12"`, `"\u0039"`, `9007199254740991`, `9007199254740992`,
		`99999999999999999999`, `-3`, `1.5`, `1e3`, `null`, `""`, `"x"`, `{"fence":50}`, `[40]`, `0`}
	ends := []string{"", "}", "}x", "} \r", `,"reason":"the \"fence\":90 of me"}`}
	random := rand.New(rand.NewPCG(1, 2))
	one := func(of []string) string { return of[random.IntN(len(of))] }
	found := map[fence.Token]bool{}
	for range 30000 {
		var log bytes.Buffer
		for range random.IntN(5) {
			log.WriteString(`{` + one(keys) + one([]string{":", " : "}) + one(values))
			if random.IntN(3) == 0 {
				log.WriteString(`,` + one(keys) + `:` + one(values))
			}
			log.WriteString(one(ends) + "\n")
		}
		content := log.Bytes()[:log.Len()-min(log.Len(), random.IntN(3))]
		want := fence.Token(random.IntN(2) * 8)
		got := largestFence(content, want)
		for line := range bytes.SplitSeq(content, []byte("\n")) {
			if e, ok := parseEntry(line); ok {
				want = max(want, e.Fence)
			}
		}
		if found[got] = true; got != want {
			t.Fatalf("%d, want %d, of\n%s", got, want, content)
		}
	}
	for _, n := range []fence.Token{0, 7, 8, 9, 12, fence.Max} {
		if !found[n] {
			t.Errorf("%d was never the largest", n)
		}
	}
}
