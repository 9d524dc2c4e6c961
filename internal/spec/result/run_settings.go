package result

import "encoding/json"

// The entries of a run's Config that a comparison with another run reads. Runs of earlier versions lack them.
const (
	// JudgesKey has the JudgeIdentity of each suite by its name.
	JudgesKey = "judges"
	// SelectionKey has the Selection.
	SelectionKey = "selection"
)

// JudgeIdentity distinguishes judges: verdicts of different ones are not compared.
type JudgeIdentity struct {
	// Name is the judging model as PROVIDER:MODEL; several have ", " between them.
	Name string `json:"name"`
	// Definition is a hash of the models and of every setting that changes verdicts; empty where it is unknown.
	Definition string `json:"definition,omitempty"`
}

// Selection is which tests of its suites a run selected. Empty values select all.
type Selection struct {
	Sample string `json:"sample,omitempty"`
	Filter string `json:"filter,omitempty"`
	Tags   string `json:"tags,omitempty"`
}

// JudgeOf returns the judge of a suite. A run of an earlier version has one name for all suites.
func (r *Run) JudgeOf(suite string) JudgeIdentity {
	judges := map[string]JudgeIdentity{}
	if !r.setting(JudgesKey, &judges) {
		return JudgeIdentity{Name: r.Judge}
	}
	return judges[suite]
}

// JudgedSuites returns the names of the suites whose judge the run knows, in no order.
func (r *Run) JudgedSuites() (names []string) {
	judges := map[string]JudgeIdentity{}
	r.setting(JudgesKey, &judges)
	for name := range judges {
		names = append(names, name)
	}
	return names
}

// Selection returns which tests the run selected.
func (r *Run) Selection() (s Selection) {
	r.setting(SelectionKey, &s)
	return s
}

// setting decodes an entry of Config, which is a value of this process or one that was read. It reports whether there
// is one.
func (r *Run) setting(key string, into any) bool {
	config, _ := r.Config.(map[string]any)
	value, ok := config[key]
	if !ok {
		return false
	}
	data, err := json.Marshal(value)
	return err == nil && json.Unmarshal(data, into) == nil
}
