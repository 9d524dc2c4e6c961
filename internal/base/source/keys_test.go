package source_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// own reads its own JSON.
type own struct{}

func (own) Keys() []string                { return []string{"x"} }
func (*own) UnmarshalJSON(_ []byte) error { return nil }

type embedded struct {
	Deep int `json:"deep"`
}

type keyed struct {
	embedded
	Name   string `json:"name,omitempty"`
	Plain  int
	Hidden int               `json:"-"`
	Inner  *keyed            `json:"inner"`
	List   []keyed           `json:"list"`
	Free   map[string]string `json:"free"`
	Files  map[string]own    `json:"files"`
	Raw    json.RawMessage   `json:"raw"`
	Any    any               `json:"any"`
}

func TestCheckKeys(t *testing.T) {
	for _, tc := range []struct {
		json, pointer string
		twice         bool
	}{
		{`{"name": "a", "Plain": 1, "deep": 2, "inner": {"name": "b"}, "list": [{"Plain": 1}], "free": {"a/b": "c"}, "files": {"f": {"x": 1}}}`, "", false},
		{`{"raw": {"anything": 1}, "any": {"Name": 1}}`, "", false},
		{`{"Name": "a"}`, "/Name", false},
		{`{"plain": 1}`, "/plain", false},
		{`{"Hidden": 1}`, "/Hidden", false},
		{`{"embedded": {}}`, "/embedded", false},
		{`{"name": "a", "name": "b"}`, "/name", true},
		{`{"name": "a", "\u006eame": "b"}`, "/name", true},
		{`{"inner": {"inner": {"nome": 1}}}`, "/inner/inner/nome", false},
		{`{"list": [{}, {"x~/y": 1}]}`, "/list/1/x~0~1y", false},
		{`{"free": {"a": "1", "a": "2"}}`, "/free/a", true},
		{`{"files": {"f": {"y": 1}}}`, "/files/f/y", false},
		{`{"raw": {"a": 1, "a": 2}}`, "/raw/a", true},
		{`{"any": [{"a": 1, "a": 2}]}`, "/any/0/a", true},
		{`not JSON`, "", false},
		{`{"name": `, "", false},
		{`[{"nome": 1}]`, "", false},
	} {
		err := source.CheckKeys([]byte(tc.json), reflect.TypeFor[keyed]())
		wrong, found := errors.AsType[*source.KeyError](err)
		if found != (tc.pointer != "") || found && (wrong.Pointer != tc.pointer || wrong.Twice != tc.twice) {
			t.Errorf("%s: %v (%+v)", tc.json, err, wrong)
		}
	}
}
