package probe_test

import (
	"os"
	"testing"

	"github.com/probate-dev/probate/probe"
)

func BenchmarkProcess(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		probe.Real().Process(os.Getpid())
	}
}

func BenchmarkProcessMissing(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		probe.Real().Process(4 << 20)
	}
}

func BenchmarkSelf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		probe.Real().Self()
	}
}

func BenchmarkHost(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		probe.Real().Host()
	}
}

func BenchmarkFilesystem(b *testing.B) {
	f, err := os.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ReportAllocs()
	for b.Loop() {
		probe.Real().Filesystem(f.Fd())
	}
}

func BenchmarkOpeners(b *testing.B) {
	f, err := os.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.ReportAllocs()
	for b.Loop() {
		probe.Real().Openers(f.Fd())
	}
}

func BenchmarkNested(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		probe.Real().Nested(2)
	}
}

func BenchmarkSelfCheck(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := probe.SelfCheck(probe.Real()); err != nil {
			b.Fatal(err)
		}
	}
}
