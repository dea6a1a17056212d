package identity_test

import (
	"testing"

	"github.com/probate-dev/probate/probe/probetest"
)

func TestMain(m *testing.M) { probetest.Run(m) }
