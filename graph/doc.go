// Package graph runs conversations along a graph of nodes that share one typed state.
//
// A turn is one run of the graph, from Start until nothing is left to do. Four rules say all about it:
//
//   - A node runs when every node that can still lead to it has finished, and then once, whatever the lengths of the branches. So each node
//     with several edges in is a join of those that were really scheduled: a branch that was skipped never holds it up.
//   - A node reads a snapshot: the state after the nodes that led to it, and nothing of those that run beside it. States are never changed
//     once they are made, so that snapshots cost nothing, however long the conversation is; Config.Guard finds who breaks that.
//   - Writes go through the reducers of the fields, in the order of steps, and within a step of node names. So the same nodes give the same
//     state, byte for byte, whichever finishes first. A step is one more than the latest step that led to the node.
//   - A turn is saved once, at its end. When a node fails for good, its siblings are cancelled and nothing is saved, except fields that are
//     Kept.
//
// A graph is defined with a Builder, which Compile checks as a whole:
//
//	var (
//		Messages = graph.Append(func(s *State) *[]Message { return &s.Messages }).Keyed(Message.Key)
//		Response = graph.Last(func(s *State) *string { return &s.Response }).PerTurn()
//	)
//
//	b := graph.New("bot", Messages, Response)
//	b.Node("classify", classify).Limit(8 * time.Second).OrElse(assumeQuestion)
//	b.Streaming("answer", answer).Limit(time.Minute)
//	b.Edge(graph.Start, "classify")
//	b.Branch("classify", route, "answer", graph.End)
//	b.Edge("answer", graph.End)
//	g, err := b.Compile(graph.Config{Checkpoints: store})
//	state, err := g.Run(ctx, thread, graph.Update[State]{Messages.Add(question)}, sink)
package graph
