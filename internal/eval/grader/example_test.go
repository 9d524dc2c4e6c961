package grader_test

import (
	"context"
	"fmt"

	"github.com/rehearse-dev/rehearse/internal/base/source"
	"github.com/rehearse-dev/rehearse/internal/eval/grader"
	"github.com/rehearse-dev/rehearse/internal/eval/runner"
	"github.com/rehearse-dev/rehearse/internal/spec/suite"
)

// A Set makes a check of an assertion, and the check's grader grades an exchange. Graders that ask no model need no
// Config.
func ExampleSet() {
	value, err := source.ParseYAML("parcels.eval.yaml", []byte(`[{type: icontains, value: sorry}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	reader := &source.Reader{File: "parcels.eval.yaml"}
	assertions := suite.Assertions(reader.Node(value, "assertions"), ".")

	check, err := grader.New(grader.Config{}).Check(assertions[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, reply := range []string{"Sorry about that.", "So what?"} {
		grade, err := check.Grader.Grade(context.Background(), &runner.Exchange{Turn: 1, Output: reply, Text: reply})
		fmt.Println(grade.Score, grade.Reason, err)
	}
	// Output:
	// 1  <nil>
	// 0 wanted: contains "sorry" in any case; got: no "sorry" in "So what?" <nil>
}
