package readme

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// block is a fenced block of a README.
type block struct {
	// file is the README, line that of the first line of text.
	file string
	line int
	// given is the parameter list in the comment above the block, needs the
	// import of a framework therein.
	given, needs string
	text         string
}

// blocksOf returns a document's blocks in this language.
func blocksOf(file, document, language string) (blocks []block) {
	lines := strings.Split(document, "\n")
	var given, needs string
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch {
		case strings.HasPrefix(line, "<!-- given:"):
			given, needs, _ = strings.Cut(strings.TrimSuffix(strings.TrimPrefix(line, "<!-- given:"), "-->"), ";")
			continue
		case !strings.HasPrefix(line, "```"):
			if line != "" {
				given, needs = "", ""
			}
			continue
		}
		b := block{file: file, line: i + 2, given: given, needs: needs}
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			b.text += lines[i] + "\n"
		}
		if line == "```"+language {
			blocks = append(blocks, b)
		}
		given, needs = "", ""
	}
	return blocks
}

// known are the packages that need no import line, by name.
var known = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "slog": "log/slog", "http": "net/http", "netip": "net/netip",
	"os": "os", "time": "time", "strings": "strings", "testing": "testing",
	"ratelimit":   "github.com/go-floodgate/floodgate/core",
	"storetest":   "github.com/go-floodgate/floodgate/core/storetest",
	"adaptertest": "github.com/go-floodgate/floodgate/core/adaptertest",
	"memstore":    "github.com/go-floodgate/floodgate/memstore",
	"httplimit":   "github.com/go-floodgate/floodgate/nethttp",
	"chilimit":    "github.com/go-floodgate/floodgate/chi",
	"ginlimit":    "github.com/go-floodgate/floodgate/gin",
	"prommetrics": "github.com/go-floodgate/floodgate/prommetrics",
	"redisstore":  "github.com/go-floodgate/floodgate/redisstore",
	"redis":       "github.com/redis/go-redis/v9",
}

// source makes a Go file of the block.
func (b block) source() (string, error) {
	if _, err := parser.ParseFile(token.NewFileSet(), "", b.text, parser.PackageClauseOnly); err == nil {
		return b.at(0) + b.text, nil
	}
	imports, code, skipped := cutImports(b.text)
	if b.needs != "" {
		imports = "import " + b.needs + "\n" + imports
	}
	if strings.TrimSpace(code) == "" {
		return onlyImports(b.at(0) + imports)
	}
	fileOf := func(head, tail string) string {
		return "package readme\n" + imports + head + "\n" + b.at(skipped) + code + tail
	}
	source := fileOf("", "")
	file, err := parse(source)
	if err != nil {
		head := "func _(" + b.given + ") {"
		if file, err = parse(fileOf(head, "\n}\n")); err != nil {
			return "", fmt.Errorf("%s: in the block at line %d: %w", b.file, b.line, err)
		}
		source = fileOf(head, uses(file)+"\n}\n")
	}
	imported := []string{"package readme\n"}
	for _, name := range slices.Sorted(maps.Keys(qualifiers(file))) {
		if path := known[name]; path != "" {
			imported = append(imported, "import "+name+" "+strconv.Quote(path)+"\n")
		}
	}
	return strings.Replace(source, imported[0], strings.Join(imported, ""), 1), nil
}

// at makes the compiler count lines as the README does.
func (b block) at(skipped int) string { return fmt.Sprintf("//line %s:%d\n", b.file, b.line+skipped) }

func parse(source string) (*ast.File, error) {
	return parser.ParseFile(token.NewFileSet(), "", source, 0)
}

// cutImports cuts off the import declarations that a text begins with.
func cutImports(text string) (imports, rest string, lines int) {
	rest = text
	for {
		line, after, _ := strings.Cut(rest, "\n")
		switch {
		case strings.HasPrefix(line, "import ("):
			group, behind, _ := strings.Cut(rest, "\n)\n")
			imports, rest = imports+group+"\n)\n", behind
		case strings.HasPrefix(line, "import "), line == "" && after != "":
			imports, rest = imports+line+"\n", after
		default:
			return imports, rest, strings.Count(imports, "\n")
		}
	}
}

// onlyImports makes a file of imports that nothing uses.
func onlyImports(imports string) (string, error) {
	file, err := parse("package readme\n" + imports)
	if err != nil {
		return "", err
	}
	source := "package readme\n"
	for _, spec := range file.Imports {
		source = strings.Join([]string{source, "import _ ", spec.Path.Value, "\n"}, "")
	}
	return source, nil
}

// qualifiers are the names before a dot that the file does not explain itself:
// packages, if they are any.
func qualifiers(file *ast.File) map[string]bool {
	names := make(map[string]bool)
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			// A local variable is resolved by the parser, a package is not.
			if name, ok := selector.X.(*ast.Ident); ok && name.Obj == nil {
				names[name.Name] = true
			}
		}
		return true
	})
	for _, spec := range file.Imports {
		if spec.Name != nil {
			delete(names, spec.Name.Name)
			continue
		}
		for name, path := range known {
			if strconv.Quote(path) == spec.Path.Value {
				delete(names, name)
			}
		}
	}
	return names
}

// uses uses every variable that the statements declare: an excerpt may stop
// before it does.
func uses(file *ast.File) string {
	var text strings.Builder
	body := file.Decls[len(file.Decls)-1].(*ast.FuncDecl).Body
	for _, statement := range body.List {
		assign, ok := statement.(*ast.AssignStmt)
		if !ok || assign.Tok != token.DEFINE {
			continue
		}
		for _, left := range assign.Lhs {
			if name, ok := left.(*ast.Ident); ok && name.Name != "_" {
				text.WriteString("\n_ = " + name.Name)
			}
		}
	}
	return text.String()
}
