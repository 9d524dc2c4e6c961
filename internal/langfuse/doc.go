// Package langfuse is a client of Langfuse's public API: datasets and their items, dataset runs, scores, traces, sessions and prompts.
//
// It works with Langfuse 3 and 4. Version 4 has no dataset runs: a run is an experiment there, which Langfuse makes of span attributes.
// A caller serves both alike by setting a Trace's Experiment, sending it by Export, and adding a run item by AddRunItem, which version 4
// accepts and ignores. Runs, sessions and traces are read from what the version has.
//
// Every call is bounded in time and in the size of its answer. A request that was refused for its rate (429) is retried. So is one that
// failed on the way or in the server, if sending it twice does no harm. Every answer of the server is checked.
package langfuse
