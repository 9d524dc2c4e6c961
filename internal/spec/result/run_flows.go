package result

// FlowsKey is the entry of a run's Config with the ids of the flows that its targets follow, by the names of the
// targets.
const FlowsKey = "flows"

// Flows returns the ids of the flows that the run's targets follow, by the names of those whose flow is known; nil
// where the run does not say, as those of earlier versions.
func (r *Run) Flows() any {
	config, _ := r.Config.(map[string]any)
	return config[FlowsKey]
}

// Follows reports whether a target of the run follows the flow of that id; known is false where the run does not say
// which flow it follows.
func (r *Run) Follows(target, flow string) (follows, known bool) {
	switch flows := r.Flows().(type) {
	case map[string]any: // as it was read
		id, known := flows[target]
		return known && id == flow, known
	case map[string]string:
		id, known := flows[target]
		return known && id == flow, known
	}
	return false, false
}
