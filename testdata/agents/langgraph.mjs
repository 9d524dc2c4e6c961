// A LangGraph server with its storage in memory, as `langgraph dev` starts it. It prints its address.
import { webcrypto } from "node:crypto";

globalThis.crypto ??= webcrypto; // Node.js 18 has it under this name only
const { startServer } = await import("@langchain/langgraph-api/server");
// Its workers look for runs now and then: many of them find one soon.
const { host } = await startServer({ port: 0, nWorkers: 64, host: "127.0.0.1", cwd: process.cwd(), graphs: { agent: "./graph.mjs:graph" } });
console.log(`http://${host}`);
