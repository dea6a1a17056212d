// Package probetest helps to test programs that use package probe: with a scripted operating system
// that says whatever a test wants ([System]), and with real child processes that are started,
// stopped and killed for real ([Child]).
//
// # Child processes
//
// A child is the test binary itself, started anew, running a registered function instead of the
// tests. Parent and child talk in lines over pipes and wait for each other's lines, never for time:
//
//	func init() {
//		probetest.Register("holder", func(p *probetest.Peer) {
//			p.Send("ready")
//			p.Expect("go")
//			...
//		})
//	}
//
//	func TestMain(m *testing.M) { probetest.Run(m) }
//
//	func TestKilled(t *testing.T) {
//		child := probetest.Start(t, "holder", "argument")
//		child.Expect("ready")
//		child.Kill()
//		...
//	}
//
// A child does not outlive the test binary, however that ends: it exits when the pipe from its
// parent is closed, and on Linux and Windows the kernel kills it, even when it is stopped.
package probetest
