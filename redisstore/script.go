package redisstore

import (
	"crypto/sha1" //nolint:gosec // the name by which Redis knows a script
	"embed"
	"encoding/hex"
	"strings"
)

// script is a script as Redis is sent it: script/name.lua with what it is made
// of, without comments.
type script struct {
	text string
	sha  string
}

// The scripts: one for all that can be asked, and a small one that does what is
// asked most by those who come alone.
var (
	manyScript = newScript("main")
	loneScript = newScript("lone")
)

//go:embed script/*.lua
var scriptSources embed.FS

func newScript(name string) script {
	text := assemble(name)
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return script{text: text, sha: hex.EncodeToString(sum[:])}
}

// assemble puts the text of name.lua in the place of each line "--> name", and
// drops lines that are comments and white space that means nothing.
func assemble(name string) string {
	source, err := scriptSources.ReadFile("script/" + name + ".lua")
	if err != nil {
		panic(err) //nolint:forbidigo // a programmer's mistake at start
	}
	var made strings.Builder
	for line := range strings.Lines(string(source)) {
		line = strings.TrimSpace(line)
		if part, ok := strings.CutPrefix(line, "--> "); ok {
			made.WriteString(assemble(part))
		} else if line != "" && !strings.HasPrefix(line, "--") {
			made.WriteString(line)
			made.WriteByte('\n')
		}
	}
	return made.String()
}
