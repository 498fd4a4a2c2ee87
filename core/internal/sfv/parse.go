package sfv

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Kind is the type of a bare item (RFC 9651, section 3.3).
type Kind uint8

// The kinds a List of a rate-limit field can meet.
const (
	Integer Kind = iota + 1
	Decimal
	String
	Token
	Bytes
	Boolean
)

// Bare is a bare item. Int holds an Integer, a Decimal's thousandths or a
// Boolean's 0 or 1; Text holds a String, a Token, or the content of Bytes.
type Bare struct {
	Kind Kind
	Int  int64
	Text string
}

// Param is one parameter of an Item.
type Param struct {
	Key   string
	Value Bare
}

// Item is a member of a List.
type Item struct {
	Value Bare
	// Params have each key once, with its last value, at its first place.
	Params []Param
}

// Param returns the value of a parameter.
func (i Item) Param(key string) (Bare, bool) {
	for _, p := range i.Params {
		if p.Key == key {
			return p.Value, true
		}
	}
	return Bare{}, false
}

// ParseList reads a List strictly as section 4.2 has it; one fault fails the
// whole field. Several field lines are given as one, joined by ", ". Inner
// lists, Dates and Display Strings are refused: no rate-limit field has them.
// An empty List is one without members and no error.
func ParseList(field string) ([]Item, error) {
	p, err := newParser(field)
	if err != nil {
		return nil, err
	}
	var list []Item
	err = p.members(func() error {
		item, err := p.item()
		list = append(list, item)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// ParseDictionary reads a Dictionary as strictly (section 4.2.2): its members,
// each key once, with its last value, at its first place. The members'
// parameters are read and left out.
func ParseDictionary(field string) ([]Param, error) {
	p, err := newParser(field)
	if err != nil {
		return nil, err
	}
	var members Item
	err = p.members(func() error {
		member, err := p.param()
		if err != nil {
			return err
		}
		members.set(member)
		return p.params(&Item{})
	})
	if err != nil {
		return nil, err
	}
	return members.Params, nil
}

type parser struct{ rest string }

func newParser(field string) (*parser, error) {
	for i := range len(field) {
		if field[i] > 0x7E || field[i] < 0x20 && field[i] != '\t' {
			return nil, fmt.Errorf("sfv: byte 0x%02X at %d", field[i], i)
		}
	}
	return &parser{rest: strings.Trim(field, " ")}, nil
}

// members reads members with commas between them until nothing is left.
func (p *parser) members(member func() error) error {
	for p.rest != "" {
		if err := member(); err != nil {
			return fmt.Errorf("%w at %q", err, p.rest)
		}
		p.rest = strings.TrimLeft(p.rest, " \t")
		if p.rest == "" {
			return nil
		}
		if !p.take(',') {
			return fmt.Errorf("sfv: no comma between members at %q", p.rest)
		}
		p.rest = strings.TrimLeft(p.rest, " \t")
		if p.rest == "" {
			return errors.New("sfv: trailing comma")
		}
	}
	return nil
}

// take consumes c if it comes next.
func (p *parser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// span consumes and returns the longest prefix of bytes that are in.
func (p *parser) span(in func(byte) bool) string {
	n := 0
	for n < len(p.rest) && in(p.rest[n]) {
		n++
	}
	text := p.rest[:n]
	p.rest = p.rest[n:]
	return text
}

func (p *parser) item() (Item, error) {
	value, err := p.bare()
	if err != nil {
		return Item{}, err
	}
	item := Item{Value: value}
	err = p.params(&item)
	return item, err
}

// params reads the parameters of an item.
func (p *parser) params(item *Item) error {
	for p.take(';') {
		p.rest = strings.TrimLeft(p.rest, " ")
		param, err := p.param()
		if err != nil {
			return err
		}
		item.set(param)
	}
	return nil
}

func (i *Item) set(param Param) {
	for n := range i.Params {
		if i.Params[n].Key == param.Key {
			i.Params[n].Value = param.Value
			return
		}
	}
	i.Params = append(i.Params, param)
}

func (p *parser) param() (Param, error) {
	if p.rest == "" || !isLower(p.rest[0]) && p.rest[0] != '*' {
		return Param{}, errors.New("sfv: a key starts with a lower-case letter or '*'")
	}
	key := p.span(func(c byte) bool { return isLower(c) || isDigit(c) || strings.IndexByte("_-.*", c) >= 0 })
	if !p.take('=') {
		return Param{Key: key, Value: Bare{Kind: Boolean, Int: 1}}, nil
	}
	value, err := p.bare()
	return Param{Key: key, Value: value}, err
}

func (p *parser) bare() (Bare, error) {
	if p.rest == "" {
		return Bare{}, errors.New("sfv: item missing")
	}
	switch c := p.rest[0]; {
	case c == '-' || isDigit(c):
		return p.number()
	case c == '"':
		return p.text()
	case c == ':':
		return p.bytes()
	case c == '?':
		return p.boolean()
	case c == '*' || isLower(c) || isUpper(c):
		token := p.span(func(c byte) bool {
			return isLower(c) || isUpper(c) || isDigit(c) || strings.IndexByte("!#$%&'*+-.^_`|~:/", c) >= 0
		})
		return Bare{Kind: Token, Text: token}, nil
	}
	return Bare{}, errors.New("sfv: no item starts like this")
}

func (p *parser) number() (Bare, error) {
	sign := int64(1)
	if p.take('-') {
		sign = -1
	}
	whole := p.span(isDigit)
	if whole == "" {
		return Bare{}, errors.New("sfv: a number has no digits")
	}
	if !p.take('.') {
		if len(whole) > 15 {
			return Bare{}, errors.New("sfv: an Integer of more than 15 digits")
		}
		n, err := strconv.ParseInt(whole, 10, 64)
		return Bare{Kind: Integer, Int: sign * n}, err
	}
	fraction := p.span(isDigit)
	if len(whole) > 12 || len(fraction) < 1 || len(fraction) > 3 {
		return Bare{}, errors.New("sfv: a Decimal of the wrong length")
	}
	n, err := strconv.ParseInt(whole+(fraction + "00")[:3], 10, 64)
	return Bare{Kind: Decimal, Int: sign * n}, err
}

func (p *parser) text() (Bare, error) {
	p.rest = p.rest[1:]
	var text strings.Builder
	for p.rest != "" {
		c := p.rest[0]
		p.rest = p.rest[1:]
		switch {
		case c == '"':
			return Bare{Kind: String, Text: text.String()}, nil
		case c == '\\':
			if p.rest == "" || p.rest[0] != '"' && p.rest[0] != '\\' {
				return Bare{}, errors.New("sfv: an unknown escape in a String")
			}
			text.WriteByte(p.rest[0])
			p.rest = p.rest[1:]
		case c < ' ' || c > '~':
			return Bare{}, errors.New("sfv: an unprintable character in a String")
		default:
			text.WriteByte(c)
		}
	}
	return Bare{}, errors.New("sfv: a String without an end")
}

func (p *parser) bytes() (Bare, error) {
	encoded, rest, found := strings.Cut(p.rest[1:], ":")
	if !found {
		return Bare{}, errors.New("sfv: a Byte Sequence without an end")
	}
	p.rest = rest
	// Missing padding and non-zero pad bits are to be read; anything outside
	// the standard alphabet is not.
	content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	return Bare{Kind: Bytes, Text: string(content)}, err
}

func (p *parser) boolean() (Bare, error) {
	p.rest = p.rest[1:]
	switch {
	case p.take('1'):
		return Bare{Kind: Boolean, Int: 1}, nil
	case p.take('0'):
		return Bare{Kind: Boolean}, nil
	}
	return Bare{}, errors.New("sfv: a Boolean is ?0 or ?1")
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
