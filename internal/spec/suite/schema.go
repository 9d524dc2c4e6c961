package suite

import (
	_ "embed"
	"encoding/json"
	"maps"
	"reflect"
	"sync"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

// shapes has what the tags of the keys do not: values of several forms, and keys that exclude each other.
//
//go:embed suite.schema.json
var shapes []byte

// assertionShapes are its $defs about assertions. Package grader makes them of its kinds; a test keeps the file so.
//
//go:embed assertion.schema.json
var assertionShapes []byte

// Schema returns the JSON Schema (2020-12) of a suite.
// It says what a file may look like; what keys mean together is checked by Load. It refuses nothing that Load accepts.
func Schema() []byte { return wholeSchema() }

var wholeSchema = sync.OnceValue(func() []byte {
	var whole, assertions map[string]any
	if err := json.Unmarshal(shapes, &whole); err != nil {
		panic(err) // the file is part of the program
	}
	if err := json.Unmarshal(assertionShapes, &assertions); err != nil {
		panic(err)
	}
	defs := whole["$defs"].(map[string]any)
	maps.Copy(defs, assertions)
	addObjects(defs)
	source.Relax(whole, true)
	text, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
})

// addObjects adds the mappings of a suite, whose keys are those of structs, to the definitions.
func addObjects(defs map[string]any) {
	objects := map[string]reflect.Type{
		"suite": reflect.TypeFor[suiteKeys](), "execution": reflect.TypeFor[suiteExecution](),
		"judge_keys": reflect.TypeFor[Judge](), "test": reflect.TypeFor[testKeys](),
		"turn": reflect.TypeFor[turnKeys](), "message": reflect.TypeFor[messageKeys](),
		"test_execution": reflect.TypeFor[testExecution](), "trials_keys": reflect.TypeFor[Trials](),
		"state": reflect.TypeFor[startKeys](), "memory": reflect.TypeFor[memory](), "fact": reflect.TypeFor[fact](),
		"chunk": reflect.TypeFor[chunk](), "quarantine": reflect.TypeFor[quarantineKeys](),
		"user": reflect.TypeFor[userKeys](), "named_user": reflect.TypeFor[namedUserKeys](),
		"user_list": reflect.TypeFor[usersKeys](), "user_part": reflect.TypeFor[partKeys](),
		"v1_suite": reflect.TypeFor[suiteKeysV1](), "v1_defaults": reflect.TypeFor[defaultKeysV1](),
		"v1_test": reflect.TypeFor[testKeysV1](), "v1_turn": reflect.TypeFor[turnKeysV1](),
		"v1_expected": reflect.TypeFor[expectedKeys](), "v1_final": reflect.TypeFor[finalKeys](),
		"v1_first_call": reflect.TypeFor[firstCallKeys](), "v1_calls": reflect.TypeFor[callsKeys](),
		"v1_similar": reflect.TypeFor[similarKeys](), "mapped_tests": reflect.TypeFor[mappedKeys](),
		"test_map": reflect.TypeFor[mapKeys](),
	}
	names := map[reflect.Type]string{
		reflect.TypeFor[mapping](): "object", reflect.TypeFor[variables](): "object", reflect.TypeFor[Stubs](): "stubs",
	}
	source.AddSchemas(defs, objects, names)
}
