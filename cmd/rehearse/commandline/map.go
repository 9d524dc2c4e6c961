package commandline

import (
	"slices"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// Map reads the values of --map: KEY=PATH, where a dot in KEY leads into a mapping. A value that begins like a list or
// a mapping is YAML.
func Map(given []string) (source.Value, error) {
	all := source.Value{Kind: source.Map}
	for _, one := range given {
		key, written, ok := strings.Cut(one, "=")
		if !ok || key == "" || written == "" {
			return all, source.Invalid("invalid --map %q: write KEY=PATH, such as id=$.id", one)
		}
		value := source.Text(written)
		if strings.HasPrefix(written, "[") || strings.HasPrefix(written, "{") && !strings.HasPrefix(written, "{{") {
			var err error
			if value, err = source.ParseYAML("--map "+key, []byte(written)); err != nil {
				return all, err
			}
		}
		if !put(&all, strings.Split(key, "."), value) {
			return all, source.Invalid("--map %s is given twice", key)
		}
	}
	return all, nil
}

// put sets a value within mappings, unless there is one.
func put(in *source.Value, keys []string, value source.Value) bool {
	at := slices.IndexFunc(in.Fields, func(f source.Field) bool { return f.Name == keys[0] })
	if at < 0 {
		in.Fields = append(in.Fields, source.Field{Name: keys[0], Value: source.Value{Kind: source.Map}})
		at = len(in.Fields) - 1
	} else if len(keys) == 1 || in.Fields[at].Value.Kind != source.Map {
		return false
	}
	if len(keys) == 1 {
		in.Fields[at].Value = value
		return true
	}
	return put(&in.Fields[at].Value, keys[1:], value)
}
