package llm

import (
	"net/url"

	"github.com/rehearse-dev/rehearse/internal/base/config"
)

// azure is OpenAI's models at Microsoft: the name of a model is that of a deployment. Without api_version it is the v1
// API (https://learn.microsoft.com/azure/foundry/openai/api-version-lifecycle), with one the dated API that came before
// it.
func azure() Provider {
	return hosted("azure", "deployments of Azure OpenAI", &vendor{
		baseEnv: "AZURE_OPENAI_ENDPOINT", keyEnvs: []string{"AZURE_OPENAI_API_KEY"}, list: "openai/v1/models",
		keyHeader: "api-key", tokens: true, hosts: []string{".azure.com", ".azure.us", ".azure.cn"},
		wire: func(m config.Model, _ bool) (wire, *Error) {
			// Versions before this one know neither max_completion_tokens nor stream_options.
			old := m.APIVersion != "" && m.APIVersion < "2024-09-01"
			w, err := openAIWire(m, dialect{maxCompletion: !old, usageUnasked: old, seed: "seed"})
			w.path, w.conversations = azurePath(m, w.path.path), azurePath(m, w.conversations.path)
			return w, err
		},
		embedding: func(m config.Model) embedding {
			e := openAIEmbedding(m)
			e.requestPath = azurePath(m, e.requestPath.path)
			return e
		},
	})
}

// azurePath returns where a request to a path of OpenAI's API goes.
func azurePath(m config.Model, path string) requestPath {
	switch {
	case m.APIVersion == "":
		return requestPath{path: "openai/v1/" + path}
	case path != "responses" && path != "conversations":
		path = "deployments/" + url.PathEscape(m.Name) + "/" + path
	}
	return requestPath{"openai/" + path, url.Values{"api-version": {m.APIVersion}}.Encode()}
}
