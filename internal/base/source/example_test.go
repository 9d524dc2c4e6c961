package source_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func ExampleParseYAML() {
	root, err := source.ParseYAML("greeting.yaml", []byte("name: greeting\nretries: two\ntimout: 30\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	reader := &source.Reader{File: "greeting.yaml"}
	name, retries := "", 0
	reader.Node(root, "").Read(map[string]func(source.Node){
		"name":    func(n source.Node) { name = n.Text() },
		"retries": func(n source.Node) { retries = n.Int(0) },
		"timeout": func(source.Node) {},
	})
	fmt.Println(name, retries)
	fmt.Println(reader.Problems)
	// Output:
	// greeting 0
	// greeting.yaml:2:10: retries: expected a whole number, got "two" (write a whole number)
	// greeting.yaml:3:1: timout: unknown key "timout" (did you mean "timeout"?)
}
