package ops

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// Names in the store's folder.
const (
	lockState    = "ops"      // the state path of the lock: ops.lock, ops.fence, …
	dirRequests  = "requests" // one file for every request id ever seen
	dirFinished  = "finished" // operations whose environment has gone on
	dirArchive   = "archive"  // what ArchiveFinished has put away
	dirNonces    = "nonces"   // one file for every spent nonce
	dirTemp      = "tmp"      // files that are not in place yet
	dirDamaged   = "damaged"  // files that could not be read, and were replaced
	suffix       = ".op.json" // the newest version
	suffixBefore = ".op.prev" // the version before it
	suffixPlain  = ".json"    // requests and nonces
	suffixTemp   = ".tmp"
)

var folders = []string{dirRequests, dirFinished, dirArchive, dirNonces, dirTemp, dirDamaged}

const readable = 32 // characters of the text that people see in a file name

// encode makes a file name, without suffix, for any text: some of it to be recognised by people,
// and all of its SHA-256. Lower-case letters, digits and dashes only, so that no filesystem folds
// two names into one (by case, by Unicode normalisation, by cutting them) and none is special.
func encode(text string) string {
	var b strings.Builder
	dash := true // none at the beginning, no two
	for _, r := range strings.ToLower(text) {
		if b.Len() == readable {
			break
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
			dash = false
		} else if !dash {
			b.WriteByte('-')
			dash = true
		}
	}
	head := strings.Trim(b.String(), "-")
	if head == "" {
		head = "x"
	}
	sum := sha256.Sum256([]byte(text))
	return head + "-" + hex.EncodeToString(sum[:])
}

var encoded = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?-[0-9a-f]{64}$`)

// stem returns what encode made of a file's name with that suffix.
func stem(name, suffix string) (string, bool) {
	s, ok := strings.CutSuffix(name, suffix)
	return s, ok && encoded.MatchString(s)
}

func slotFile(environment string) string  { return encode(environment) + suffix }
func requestFile(id string) string        { return dirRequests + "/" + encode(id) + suffixPlain }
func nonceFile(nonce string) string       { return dirNonces + "/" + encode(nonce) + suffixPlain }
func operationFile(dir, id string) string { return dir + "/" + encode(id) + suffix }
func before(slot string) string           { return strings.TrimSuffix(slot, suffix) + suffixBefore }
