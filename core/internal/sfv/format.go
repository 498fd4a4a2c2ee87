package sfv

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// FormatList writes a parsed List in its one canonical form, so that a field
// can be held against what it should have looked like.
func FormatList(list []Item) string {
	var out strings.Builder
	for i, item := range list {
		if i > 0 {
			out.WriteString(", ")
		}
		out.WriteString(formatBare(item.Value))
		for _, param := range item.Params {
			out.WriteString(";" + param.Key)
			if param.Value != (Bare{Kind: Boolean, Int: 1}) {
				out.WriteString("=" + formatBare(param.Value))
			}
		}
	}
	return out.String()
}

func formatBare(b Bare) string {
	switch b.Kind {
	case Integer:
		return strconv.FormatInt(b.Int, 10)
	case Decimal:
		return formatDecimal(b.Int)
	case String:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(b.Text) + `"`
	case Token:
		return b.Text
	case Bytes:
		return ":" + base64.StdEncoding.EncodeToString([]byte(b.Text)) + ":"
	case Boolean:
		return fmt.Sprintf("?%d", b.Int)
	}
	return ""
}

// formatDecimal drops trailing zeros but for one digit after the point.
func formatDecimal(thousandths int64) string {
	sign := ""
	if thousandths < 0 {
		sign, thousandths = "-", -thousandths
	}
	fraction := strings.TrimRight(fmt.Sprintf("%03d", thousandths%1000), "0")
	if fraction == "" {
		fraction = "0"
	}
	return fmt.Sprintf("%s%d.%s", sign, thousandths/1000, fraction)
}
