package runlog

import (
	"errors"
	"fmt"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/spec/result"
)

// Decode reads a line of a log. It accepts what encoding/json accepts, in a third of the time.
func Decode(line []byte) (*result.Test, error) {
	t := &result.Test{}
	if err := jsonv2.Unmarshal(line, t, decoding()); err != nil {
		return nil, err
	}
	return known(t)
}

// known returns the record, or an error if its schema is newer than this program's.
func known(t *result.Test) (*result.Test, error) {
	if t.Schema > result.Schema {
		return nil, fmt.Errorf("schema %d was written by a newer rehearse; this program knows %d", t.Schema,
			result.Schema)
	}
	return t, nil
}

// decoding are the rules of encoding/json, with the types of which a record has many read without their method
// UnmarshalJSON.
var decoding = sync.OnceValue(func() jsonv2.Options {
	return jsonv2.JoinOptions(jsonv1.DefaultOptionsV1(), jsonv2.WithUnmarshalers(jsonv2.JoinUnmarshalers(
		jsonv2.UnmarshalFromFunc(decodeContent),
		jsonv2.UnmarshalFromFunc(decodeCost),
		jsonv2.UnmarshalFromFunc(decodeUsage),
	)))
})

// decodeContent reads text; UnmarshalJSON reads other content.
func decodeContent(d *jsontext.Decoder, c *chat.Content) error {
	if d.PeekKind() != '"' {
		return errors.ErrUnsupported
	}
	token, err := d.ReadToken()
	if err == nil {
		*c = chat.Content{Text: token.String()}
	}
	return err
}

// decodeCost reads a number or null.
func decodeCost(d *jsontext.Decoder, c *chat.Cost) error {
	*c = chat.Cost{Unknown: d.PeekKind() == 'n'}
	if c.Unknown {
		return d.SkipValue()
	}
	return jsonv2.UnmarshalDecode(d, &c.USD)
}

// decodeUsage reads an object or null as UnmarshalJSON does.
func decodeUsage(d *jsontext.Decoder, u *chat.Usage) error {
	if d.PeekKind() == 'n' {
		*u = chat.Usage{Unknown: true}
		return d.SkipValue()
	}
	var tokens struct {
		Input     int `json:"input_tokens"`
		Output    int `json:"output_tokens"`
		Cached    int `json:"cached_tokens"`
		Reasoning int `json:"reasoning_tokens"`
	}
	err := jsonv2.UnmarshalDecode(d, &tokens)
	*u = chat.Usage{
		InputTokens: tokens.Input, OutputTokens: tokens.Output, CachedTokens: tokens.Cached,
		ReasoningTokens: tokens.Reasoning,
	}
	return err
}
