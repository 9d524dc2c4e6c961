// Package shell reads and quotes command lines. It runs nothing and expands nothing.
package shell

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// Words splits a line into its words by the quoting rules of bash. Blanks and line ends separate words. Patterns,
// braces and tildes are literal. Anything that needs a shell is an error with its position: variables, substitutions,
// pipes, redirections, comments, and operators between commands. Errors quote nothing but operators and quotes, because
// a line may have secrets.
func Words(line string) ([]string, error) {
	line = strings.ReplaceAll(line, "\r\n", "\n")
	if i := strings.IndexByte(line, 0); i >= 0 {
		return nil, fmt.Errorf("a NUL character stands at %s", position(line, i))
	}
	if err := refused(line); err != nil {
		return nil, err
	}
	var words []string
	for word, err := range syntax.NewParser().WordsSeq(strings.NewReader(line)) {
		if err != nil {
			return nil, explain(line, err)
		}
		var b strings.Builder
		if err := literal(&b, line, word.Parts, ""); err != nil {
			return nil, err
		}
		words = append(words, b.String())
	}
	return words, nil
}

// refused rejects the first expansion or comment. The parser would drop a comment with all arguments in it, and would
// follow nested expansions until the stack overflows.
func refused(line string) error {
	var quote byte // that is open; '$' for $'…'
	begins := true // a word
	for i := 0; i < len(line); i++ {
		c, next := line[i], byte(0)
		if i+1 < len(line) {
			next = line[i+1]
		}
		switch {
		case quote == '\'':
			if c == '\'' {
				quote = 0
			}
		case c == '\\':
			i++
			begins = begins && next == '\n'
			continue
		case quote == '$':
			if c == '\'' {
				quote = 0
			}
		case c == '`' || c == '$' && isExpansion(next):
			return needsShell(line, i)
		case c == '"':
			quote ^= '"'
		case quote == '"':
		case c == '\'':
			quote = '\''
		case c == '$' && next == '\'':
			quote = '$'
			i++
		case c == '(':
			return needsShell(line, i)
		case c == '#' && begins:
			return fmt.Errorf(`"#" at %s begins a comment: quote it, or leave it and what follows out`,
				position(line, i))
		}
		begins = quote == 0 && strings.IndexByte(" \t\r\n|&;<>)", c) >= 0
	}
	return nil
}

// isExpansion reports whether a dollar sign before this character begins an expansion.
func isExpansion(next byte) bool {
	return next == '_' || next >= '0' && next <= '9' || next >= 'A' && next <= 'Z' || next >= 'a' && next <= 'z' ||
		next != 0 && strings.IndexByte("@*#?$!-({[", next) >= 0
}

// literal appends the text of a word's parts. A backslash is dropped before each of the escaped characters, and before
// every character if escaped is empty.
func literal(b *strings.Builder, line string, parts []syntax.WordPart, escaped string) error {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			for i := 0; i < len(p.Value); i++ {
				last := i+1 == len(p.Value)
				if p.Value[i] == '\\' && last && escaped == "" {
					return fmt.Errorf(`the line ends after the \ at %s`, position(line, int(p.End().Offset())-1))
				}
				if p.Value[i] == '\\' && !last && (escaped == "" || strings.IndexByte(escaped, p.Value[i+1]) >= 0) {
					i++
				}
				b.WriteByte(p.Value[i])
			}
		case *syntax.SglQuoted:
			text := p.Value
			if p.Dollar {
				var err error
				if text, _, err = expand.Format(nil, text, nil); err != nil {
					return fmt.Errorf("the $' at %s cannot be read: %w", position(line, int(p.Pos().Offset())), err)
				}
			}
			b.WriteString(text)
		case *syntax.DblQuoted:
			if err := literal(b, line, p.Parts, "$`\"\\"); err != nil {
				return err
			}
		default:
			return needsShell(line, int(p.Pos().Offset()))
		}
	}
	return nil
}

// needsShell is the error for a construct of a shell's.
func needsShell(line string, offset int) error {
	at, found := position(line, offset), line[offset:offset+1]
	if found == "$" || found == "`" {
		return fmt.Errorf("%q at %s begins a variable or a command: put it in single quotes, or write its value",
			found, at)
	}
	return fmt.Errorf("%q at %s is for a shell: quote it, or leave it and what follows out", found, at)
}

// explain returns the parser's error with the position in the line.
func explain(line string, err error) error {
	failed, ok := errors.AsType[syntax.ParseError](err)
	if !ok {
		return err
	}
	offset := int(failed.Pos.Offset())
	if offset >= len(line) {
		return fmt.Errorf("%s at %s", failed.Text, position(line, offset))
	}
	quote := strings.TrimPrefix(line[offset:min(offset+2, len(line))], "$")
	switch {
	case failed.Incomplete && (strings.HasPrefix(quote, "'") || strings.HasPrefix(quote, `"`)):
		return fmt.Errorf("a %s at %s is never closed", quote[:1], position(line, offset))
	case strings.IndexByte("|&;<>)", line[offset]) >= 0:
		return needsShell(line, offset)
	}
	return fmt.Errorf("%s at %s", failed.Text, position(line, offset))
}

// position returns where a byte of the line stands, in characters from 1.
func position(line string, offset int) string {
	before := line[:min(offset, len(line))]
	start := strings.LastIndexByte(before, '\n') + 1
	column := "column " + strconv.Itoa(utf8.RuneCountInString(before[start:])+1)
	if !strings.Contains(strings.TrimRight(line, "\n"), "\n") {
		return column
	}
	return "line " + strconv.Itoa(strings.Count(before, "\n")+1) + ", " + column
}
