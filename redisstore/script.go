package redisstore

import (
	"crypto/sha1" //nolint:gosec // the name by which Redis knows a script
	_ "embed"
	"encoding/hex"
	"strings"
)

// scriptText is what Redis is sent: script.lua without its comments.
var scriptText = stripComments(scriptSource)

//go:embed script.lua
var scriptSource string

var scriptSHA = func() string {
	sum := sha1.Sum([]byte(scriptText)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}()

// stripComments drops lines that are comments and white space that means
// nothing.
func stripComments(source string) string {
	var kept strings.Builder
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "--") {
			kept.WriteString(line)
			kept.WriteByte('\n')
		}
	}
	return kept.String()
}
