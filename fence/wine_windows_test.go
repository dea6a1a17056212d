package fence

import (
	"testing"

	"golang.org/x/sys/windows"
)

// notOnWine skips a test of what Wine does otherwise than Windows.
func notOnWine(t *testing.T, what string) {
	t.Helper()
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		t.Skip("Wine differs from Windows: ", what)
	}
}
