package source

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
)

// maxGrowth is how many nodes merges and aliases of a local file may add for each that is written.
const maxGrowth = 10

// extent is how many nodes a value has, and how many levels.
type extent struct{ nodes, depth int }

// endless is more nodes than any document may have. Sums end there, since aliases of aliases can stand for more than an int counts.
const endless = 1 << 40

func (e extent) plus(o extent) extent {
	return extent{min(e.nodes+o.nodes, endless), max(e.depth, o.depth+1)}
}

// counter counts what the converter would make of a stream of documents, before it does.
type counter struct {
	anchors map[string]extent
	// written counts the nodes of the text itself.
	written int
	// largest is the alias that stands for most nodes.
	largest   ast.Node
	largestIs int
}

// count refuses a stream of documents that has too many nodes or levels, merges and aliases included.
func (c *converter) count(stream *ast.File) error {
	all := counter{anchors: map[string]extent{}}
	c.nodes = 0
	for _, d := range stream.Docs {
		e := all.value(d.Body)
		if e.depth > maxDepth+1 {
			line, column := c.place(d.Body.GetToken())
			return fault(c.file, line, column, fmt.Sprintf("nested deeper than %d levels, aliases included", maxDepth), "flatten the document")
		}
		c.nodes = min(c.nodes+e.nodes, endless)
	}
	c.nodes = max(c.nodes, all.written)
	if !c.submitted && all.largest != nil && c.nodes-all.written > maxGrowth*all.written {
		line, column := c.place(all.largest.GetToken())
		return fault(c.file, line, column,
			fmt.Sprintf("merges and aliases add more than %d nodes for each of the %d that are written", maxGrowth, all.written),
			fmt.Sprintf("use *%s less often: it stands for %d nodes here", aliasName(all.largest), all.largestIs))
	}
	if c.nodes > c.most {
		return errTooMany
	}
	return nil
}

func aliasName(n ast.Node) string {
	if alias, ok := n.(*ast.AliasNode); ok {
		return alias.Value.GetToken().Value
	}
	return ""
}

// value counts a node with all that it stands for, as converter.value reads it.
func (c *counter) value(n ast.Node) extent {
	if n == nil {
		return extent{}
	}
	c.written++
	e := extent{1, 1}
	switch n := n.(type) {
	case *ast.SequenceNode:
		for _, item := range n.Values {
			e = e.plus(c.value(item))
		}
	case *ast.MappingNode:
		e = c.fields(n.Values)
	case *ast.MappingValueNode:
		e = c.fields([]*ast.MappingValueNode{n})
	case *ast.AnchorNode:
		c.written--
		e = c.value(n.Value)
		c.anchors[n.Name.GetToken().Value] = e
	case *ast.AliasNode:
		if target, ok := c.anchors[n.Value.GetToken().Value]; ok {
			e = target
		}
		if e.nodes > c.largestIs {
			c.largest, c.largestIs = n, e.nodes
		}
	case *ast.TagNode:
		c.written--
		e = c.value(n.Value)
	}
	return e
}

func (c *counter) fields(entries []*ast.MappingValueNode) extent {
	e := extent{1, 1}
	for _, entry := range entries {
		if entry.Key.IsMergeKey() { // the fields of what is merged stand beside the others
			c.written++
			merged := c.value(entry.Value)
			e = extent{min(e.nodes+merged.nodes-1, endless), max(e.depth, merged.depth)}
			continue
		}
		e = e.plus(c.value(entry.Key)).plus(c.value(entry.Value))
	}
	return e
}
