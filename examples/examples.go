// Package examples holds the examples that the program carries along, so that `rehearse demo` needs nothing beside
// itself.
package examples

import "embed"

// Files are the folders of the demonstration, named as they are here.
//
//go:embed bookshop quickstart intents sites
//go:embed replay/LICENSE.txt replay/README.md replay/events.jsonl.gz replay/flows replay/prompts replay/variants.yaml
var Files embed.FS
