// Package sfv writes and reads the part of structured fields (RFC 9651) that
// rate-limit fields are made of: Lists of Items with parameters. The writer
// and the reader share no code, so that each can be tested against the other.
package sfv

import (
	"errors"
	"fmt"
	"strconv"
)

// MaxInteger is the largest Integer of a structured field (section 3.3.1); the
// smallest is its negative.
const MaxInteger = 999_999_999_999_999

// ErrNotPrintable is the error for a String with anything but the printable
// ASCII characters 0x20 to 0x7E (section 3.3.3).
var ErrNotPrintable = errors.New("sfv: a String holds printable ASCII only (0x20 to 0x7E)")

// AppendString appends s as a String, quotes included (section 4.1.6). On an
// error dst comes back as it was.
func AppendString(dst []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7E {
			return dst, ErrNotPrintable
		}
	}
	dst = append(dst, '"')
	for i := range len(s) {
		if s[i] == '"' || s[i] == '\\' {
			dst = append(dst, '\\')
		}
		dst = append(dst, s[i])
	}
	return append(dst, '"'), nil
}

// AppendInteger appends n as an Integer (section 4.1.4). On an error dst comes
// back as it was.
func AppendInteger(dst []byte, n int64) ([]byte, error) {
	if n > MaxInteger || n < -MaxInteger {
		return dst, fmt.Errorf("sfv: an Integer has at most 15 digits, %d has more", n)
	}
	return strconv.AppendInt(dst, n, 10), nil
}

// ClampInteger returns the non-negative Integer closest to n.
func ClampInteger(n int64) int64 { return max(0, min(n, MaxInteger)) }
