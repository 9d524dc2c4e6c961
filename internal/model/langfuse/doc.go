// Package langfuse is a client of Langfuse's public API. It reads and writes datasets and their items, writes dataset
// runs, scores and traces, and reads sessions, traces and prompts.
//
// It works with Langfuse 3 and 4. Version 4 has experiments instead of dataset runs, and makes them of the attributes
// of spans. A caller serves both versions in the same way: it sets a Trace's Experiment, sends the trace by Export, and
// adds a run item by AddRunItem, which version 4 accepts and ignores. Sessions and traces are read from the endpoints
// that the version has.
//
// Every call is bounded in time and in the size of its answer. A request that was refused for its rate (429) is
// retried. So is one that failed on the way or in the server, if sending it twice does no harm. Every answer of the
// server is checked.
package langfuse
