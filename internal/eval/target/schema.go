package target

import (
	_ "embed"
	"encoding/json"
	"maps"
	"reflect"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/target/answer"
)

// shapes has what the tags of the keys do not: values of several forms, and keys that exclude each other.
//
//go:embed config.schema.json
var shapes []byte

// ConfigSchema returns the JSON Schema (2020-12) of configuration files. It refuses nothing that the program accepts.
func ConfigSchema() []byte {
	schema := strictSchema()
	source.Relax(schema, true)
	text, err := json.MarshalIndent(schema, "", " ")
	if err != nil {
		panic(err) // it was read from JSON
	}
	return append(text, '\n')
}

// strictSchema returns the schema in which a text is a text, and no more.
func strictSchema() map[string]any {
	var schema map[string]any
	if err := json.Unmarshal(shapes, &schema); err != nil {
		panic(err) // the file is part of the program
	}
	structs := map[string]reflect.Type{
		"model_target": reflect.TypeFor[modelTargetKeys](), "flow": reflect.TypeFor[flowSchema](),
		"http": reflect.TypeFor[httpSchema](), "execute": reflect.TypeFor[executeSchema](),
		"websocket": reflect.TypeFor[websocketSchema](), "a2a": reflect.TypeFor[a2aSchema](),
		"command": reflect.TypeFor[commandSchema](), "sitebot": reflect.TypeFor[sitebotSchema](),
		"classifier": reflect.TypeFor[classifierSchema](), "recorded": reflect.TypeFor[recordedSchema](),
		"answers": reflect.TypeFor[answersKeys](), "answer_map": reflect.TypeFor[answerMap](),
		"session":         reflect.TypeFor[sessionKeys](),
		"command_session": reflect.TypeFor[pathSession](), "open": reflect.TypeFor[openKeys](),
		"close": reflect.TypeFor[requestKeys](), "completion_judge": reflect.TypeFor[completionJudge](),
		"memory": reflect.TypeFor[memoryKeys](), "limits": reflect.TypeFor[limitKeys](),
		"websocket_open": reflect.TypeFor[websocketOpen](), "websocket_close": reflect.TypeFor[websocketClose](),
	}
	maps.Copy(structs, config.Schemas())
	maps.Copy(structs, answer.Schemas())
	source.AddSchemas(schema["$defs"].(map[string]any), structs, nil)
	return schema
}

// agentKeys are the keys that targets have besides those of their kinds: for replays, and for tools over MCP.
type agentKeys struct {
	completionKeys
	followKeys
	MCP source.Node `key:"mcp" schema:"mcp"`
}

// The keys of targets by their kinds.
type (
	modelTargetKeys struct {
		config.ModelKeys
		completionKeys
	}
	flowSchema struct {
		flowTargetKeys
		completionKeys
	}
	executeSchema struct {
		executeKeys
		completionKeys
	}
	httpSchema struct {
		httpKeys
		agentKeys
	}
	websocketSchema struct {
		websocketKeys
		agentKeys
	}
	a2aSchema struct {
		a2aKeys
		agentKeys
	}
	commandSchema struct {
		commandKeys
		agentKeys
	}
	sitebotSchema struct {
		sitebotKeys
		completionKeys
	}
	recordedSchema struct {
		recordedKeys
		completionKeys
	}
	classifierSchema struct {
		classifierKeys
		completionKeys
	}
)
