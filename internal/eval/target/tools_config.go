package target

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/rehearse-dev/rehearse/internal/base/config"
	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/base/tool"
)

// maxTools bounds a file of tools, in bytes.
const maxTools = 8 << 20

// readTools reads the tools that a target's agent is offered over MCP: a list, or the name of a file with one.
func readTools(n source.Node, at config.Location) (set tool.Set) {
	keys := struct {
		Tools source.Node `key:"tools"`
	}{}
	source.Decode(n, &keys)
	switch keys.Tools.Kind {
	case source.Null:
	case source.List:
		if set.DecodeNode(keys.Tools); len(set) == 0 {
			keys.Tools.Report("write at least one tool, or remove `mcp`", "there are no tools")
		}
	default:
		set = readToolsFile(keys.Tools, at)
	}
	if n.Kind == source.Map && !n.Has("tools") {
		n.Report("add `tools:`, a list or the name of a file", "there are no tools")
	}
	return set
}

func readToolsFile(n source.Node, at config.Location) tool.Set {
	path := at.Path(n.Text())
	if path == "" {
		n.Report("write a list of tools, or the name of a file", "there are no tools")
		return nil
	}
	data, err := toolsFile(at.Files, path)
	if err != nil {
		n.Report("check the path, which begins at the configuration's folder", "the tools cannot be read: %v", err)
		return nil
	}
	set, err := tool.Load(at.Files, path, data)
	if problems, ok := errors.AsType[source.Problems](err); ok {
		n.Add(problems)
	} else if err != nil {
		n.Report("", "the tools cannot be read: %v", err)
	}
	return set
}

func toolsFile(files source.Files, path string) ([]byte, error) {
	file, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err := file.Stat(); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file", path)
	}
	data, err := io.ReadAll(io.LimitReader(file, maxTools+1))
	if err == nil && len(data) > maxTools {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxTools)
	}
	return data, err
}

// mcpVariable is the variable of a program's environment that has the address of its tools.
const mcpVariable = "REHEARSE_MCP_URL"

// checkState reports a target that does not tell its agent where the tools are.
func checkState(n source.Node, t config.Target) {
	names, ok := Placeholders(t)
	c, isCommand := t.Options.(CommandConfig)
	switch {
	case t.Kind == "model":
		n.Report("write `tools:` into the target",
			"a model is given its tools with the request, and takes none over MCP")
	case !ok:
		n.Report("remove it",
			"a target of kind %s has no place for {{mcp_url}}, so its agent cannot be told where the tools are", t.Kind)
	case isCommand && c.Process != forAll || slices.Contains(names, "mcp_url"):
	default:
		n.Report("put {{mcp_url}} into `headers`, `body` or wherever the agent expects it",
			"{{mcp_url}} stands nowhere: the agent is not told where the tools are")
	}
}
