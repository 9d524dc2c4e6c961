package source

import (
	"errors"
	"unicode/utf8"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// errTooMany says that a text has more nodes than it may.
var errTooMany = errors.New("too many nodes")

const (
	// tokensPerNode bounds the tokens that no node needs, such as comments: a key with its colon and its value has three, of an anchor two more.
	tokensPerNode = 4
	// maxRounds bounds how often a text is read from its start, in which punctuation is dense and nodes are few.
	maxRounds = 16
)

// tokens cuts a text into tokens, and refuses one with too many: a token takes two hundred times the memory of a byte. The library cuts a text only as
// a whole, so that ever longer parts of it are cut, each of which can have no more tokens than are left.
func (c *converter) tokens(text string) (token.Tokens, error) {
	if line, hint := runsCost(text); c.submitted && hint != "" {
		return nil, fault(c.file, line, 1, tooSlow, hint)
	}
	most := tokensPerNode*c.most + 1000
	at, used := 0, 0
	for range maxRounds {
		at = part(text, at, (most-used)/2)
		all := lexer.Tokenize(text[:at])
		c.nodes, used = nodesIn(all), len(all)
		if c.nodes > c.most || used > most {
			return nil, errTooMany
		}
		if at == len(text) {
			return all, c.checkCost(all)
		}
	}
	return nil, errTooMany
}

// part returns the end of the longest part of a text that adds at most so many marks to the part that ends at a place. Each token begins or ends with
// a mark: a sign or the end of a line.
func part(text string, at, marks int) int {
	for ; at < len(text); at++ {
		switch b := text[at]; {
		case b >= utf8.RuneSelf, b == ' ', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9':
			continue
		}
		if marks--; marks < 0 {
			break
		}
	}
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}

// nodesIn returns the nodes for which tokens stand at least.
func nodesIn(all token.Tokens) (nodes int) {
	for _, t := range all {
		switch t.Type {
		case token.SequenceEntryType, token.MappingValueType, token.CollectEntryType, token.SequenceEndType, token.MappingEndType,
			token.CommentType, token.DocumentHeaderType, token.DocumentEndType, token.DirectiveType, token.TagType, token.AnchorType,
			token.AliasType, token.LiteralType, token.FoldedType, token.MappingKeyType, token.InvalidType, token.SpaceType:
		default:
			nodes++
		}
	}
	return nodes
}
