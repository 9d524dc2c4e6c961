package llm

import (
	"net"
	"strings"

	"github.com/rehearse-dev/rehearse/internal/base/chat"
	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// openAI is OpenAI, and any server with its API.
func openAI() Provider {
	return hosted("openai", "OpenAI and any server with its API", &vendor{
		base: "https://api.openai.com/v1", baseEnv: "OPENAI_BASE_URL", keyEnvs: []string{"OPENAI_API_KEY"},
		list: "models", embedding: openAIEmbedding,
		wire: func(m config.Model, public bool) (wire, *Error) {
			return openAIWire(m, dialect{maxCompletion: public, seed: "seed"})
		},
	})
}

// ollama is a local server. OpenAI's key does not belong there.
func ollama() Provider {
	return hosted("ollama", "a local Ollama server", &vendor{
		base: "http://localhost:11434/v1", baseEnv: "OLLAMA_HOST",
		fromEnv: ollamaBase, list: "models", embedding: openAIEmbedding,
		wire: func(m config.Model, _ bool) (wire, *Error) { return openAIWire(m, dialect{seed: "seed"}) },
	})
}

// ollamaBase reads OLLAMA_HOST as Ollama does (https://github.com/ollama/ollama, envconfig.Host): scheme, port and host
// may be missing.
func ollamaBase(value string) string {
	scheme, rest, ok := strings.Cut(value, "://")
	port := "11434"
	switch {
	case !ok:
		scheme, rest = "http", value
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	}
	hostPort, path, _ := strings.Cut(rest, "/")
	host, given, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	} else if given != "" {
		port = given
	}
	if host == "" || host == "0.0.0.0" || host == "::" { // where a server listens is no address to call
		host = "127.0.0.1"
	}
	base := scheme + "://" + net.JoinHostPort(host, port)
	if path = strings.Trim(path, "/"); path != "" {
		base += "/" + path
	}
	return base + "/v1"
}

// dialect is what differs between the servers with OpenAI's API.
type dialect struct {
	// maxCompletion sends max_completion_tokens, which OpenAI's reasoning models want; most other servers know only
	// max_tokens.
	maxCompletion bool
	// seed is the name of the seed in a request; empty for a server without one.
	seed string
	// plainJSON is true of a server that can promise JSON, but not of a schema.
	plainJSON bool
	// usageUnasked is true of a server that refuses stream_options, and tells the usage of a stream unasked.
	usageUnasked bool
	// userLast is true of a server that refuses instructions alone: they go as what the user says.
	userLast bool
	// thoughts is the field of a message with tool calls that has to come back with it; empty for none.
	thoughts string
	// callID makes the ID of a tool call one that the server takes; nil takes any.
	callID func(id string) string
}

// openAIWire returns one of the two formats of OpenAI.
func openAIWire(m config.Model, d dialect) (wire, *Error) {
	switch m.API {
	case "", "chat_completions":
		return wire{
			path:   requestPath{path: "chat/completions"},
			encode: func(r Request, streamed bool) (any, error) { return encodeChat(m, r, d, streamed) },
			decode: func(_ Request, body []byte) (chat.Reply, error) { return decodeChat(body, d) },
			assemble: func(_ Request, token func(string)) assembler {
				return &assembly{token: token, dialect: d}
			}, optionalSchema: true, seedless: d.seed == "",
		}, nil
	case "responses":
		return wire{
			path: requestPath{path: "responses"}, conversations: requestPath{path: "conversations"},
			encode:         func(r Request, streamed bool) (any, error) { return encodeResponses(m, r, streamed) },
			decode:         func(_ Request, body []byte) (chat.Reply, error) { return decodeResponses(body) },
			assemble:       func(_ Request, token func(string)) assembler { return &responsesAssembly{token: token} },
			optionalSchema: true, seedless: true,
		}, nil
	}
	return wire{}, unknownAPI(m, "use chat_completions or responses")
}
