package source

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// maxGrowth is how many nodes merges and aliases of a local file may add for each that is written.
const maxGrowth = 10

// extent is how many nodes a value has, and how many levels.
type extent struct{ nodes, depth int }

// endless is more nodes than any document may have. Sums end there, since aliases of aliases can stand for more than an
// int counts.
const endless = 1 << 40

func (e extent) plus(o extent) extent {
	return extent{min(e.nodes+o.nodes, endless), max(e.depth, o.depth+1)}
}

// counter counts what the converter would make of a stream of documents, before it does.
type counter struct {
	anchors map[*yaml.Node]extent
	// written counts the nodes of the text itself.
	written int
	// largest is the alias that stands for most nodes.
	largest   *yaml.Node
	largestIs int
}

// count refuses a stream of documents that has too many nodes or levels, merges and aliases included.
func (c *converter) count(stream []*yaml.Node) error {
	all := counter{anchors: map[*yaml.Node]extent{}}
	c.nodes = 0
	for _, body := range stream {
		e := all.value(body)
		if e.depth > maxDepth+1 {
			line, column := c.place(body.Line, body.Column)
			return fault(c.file, line, column, fmt.Sprintf("nested deeper than %d levels, aliases included", maxDepth),
				"flatten the document")
		}
		c.nodes = min(c.nodes+e.nodes, endless)
	}
	c.nodes = max(c.nodes, all.written)
	if !c.submitted && all.largest != nil && c.nodes-all.written > maxGrowth*all.written {
		line, column := c.place(all.largest.Line, all.largest.Column)
		return fault(c.file, line, column,
			fmt.Sprintf("merges and aliases add more than %d nodes for each of the %d that are written", maxGrowth,
				all.written),
			fmt.Sprintf("use *%s less often: it stands for %d nodes here", all.largest.Value, all.largestIs))
	}
	if c.nodes > c.most {
		return errTooMany
	}
	return nil
}

// value counts a node with all that it stands for, as converter.value reads it.
func (c *counter) value(n *yaml.Node) extent {
	c.written++
	e := extent{1, 1}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			e = e.plus(c.value(item))
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Tag == "!!merge" { // the fields of what is merged stand beside the others
				c.written++
				merged := c.value(n.Content[i+1])
				e = extent{min(e.nodes+merged.nodes-1, endless), max(e.depth, merged.depth)}
				continue
			}
			e = e.plus(c.value(n.Content[i])).plus(c.value(n.Content[i+1]))
		}
	case yaml.AliasNode:
		if target, ok := c.anchors[n.Alias]; ok {
			e = target
		}
		if e.nodes > c.largestIs {
			c.largest, c.largestIs = n, e.nodes
		}
	}
	if n.Anchor != "" {
		c.anchors[n] = e
	}
	return e
}
