package draw_test

import (
	"fmt"
	"os"

	"github.com/rehearse-dev/rehearse/internal/agent/draw"
)

func ExampleMermaid() {
	graph := draw.Graph{
		Nodes: []draw.Node{{ID: "hello", Shape: draw.Start}, {ID: "order", Label: "Take the order"}},
		Edges: []draw.Edge{{From: "hello", To: "order", Label: "wants coffee"}, {From: "order"}},
	}
	if err := draw.Mermaid(os.Stdout, graph); err != nil {
		fmt.Println(err)
	}
	// Output:
	// flowchart TD
	//   n0("hello"):::plain
	//   n1["Take the order"]:::plain
	//   n0 -->|"wants coffee"| n1
	//   n1 --> e1((" ")):::dot
	//   classDef plain fill:#f6f4f0,stroke:#8a8275,color:#211f1b
	//   classDef dot fill:#7a7265,stroke:#7a7265
}
