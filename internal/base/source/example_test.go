package source_test

import (
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"
)

func ExampleDecode() {
	root, err := source.ParseYAML("greeting.yaml", []byte("name: greeting\nretries: two\ntimout: 30\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	var keys struct {
		Name    string `key:"name"`
		Retries int    `key:"retries" minimum:"0"`
		Timeout int    `key:"timeout" minimum:"1"`
	}
	reader := &source.Reader{File: "greeting.yaml"}
	source.Decode(reader.Node(root, ""), &keys)
	fmt.Println(keys.Name, keys.Retries)
	fmt.Println(reader.Problems)
	// Output:
	// greeting 0
	// greeting.yaml:2:10: retries: expected a whole number, got "two" (write a whole number)
	// greeting.yaml:3:1: timout: unknown key "timout" (did you mean "timeout"?)
}
