package result

// FlowsKey is the entry of a run's Config with the ids of the flows that its targets follow, by the names of the targets.
const FlowsKey = "flows"

// Flows returns the ids of the flows that the run's targets follow, by the names of the targets; nil where the run does not say, as those of
// earlier versions.
func (r *Run) Flows() any {
	config, _ := r.Config.(map[string]any)
	return config[FlowsKey]
}

// Follows reports whether a target of the run follows the flow of that id, and whether the run says so.
func (r *Run) Follows(target, flow string) (follows, known bool) {
	switch flows := r.Flows().(type) {
	case map[string]any: // as it was read
		return flows[target] == flow, true
	case map[string]string:
		return flows[target] == flow, true
	}
	return false, false
}
