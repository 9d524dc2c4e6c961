// A LangGraph server with its storage in memory, as `langgraph dev` starts it. It prints its address.
import { startServer } from "@langchain/langgraph-api/server";

const log = console.log;
console.log = console.error;
const { host } = await startServer({ port: 0, nWorkers: 8, host: "127.0.0.1", cwd: process.cwd(), graphs: { agent: "./graph.mjs:graph" } });
log(`http://${host}`);
