// An agent of the A2A protocol's own SDK. It prints its address, below which /1.0/JSONRPC, /1.0/HTTP+JSON, /0.3/JSONRPC and /0.3/HTTP+JSON are the
// bases of an agent each, with a card; those of /both speak both versions. The agent counts the messages of a context and says the first one's last
// word, so that a mixed-up conversation shows. "task …" answers with an artifact in pieces, "ask" with a task that needs input, "fail" with one that
// failed; "throw" throws.
import { randomUUID, webcrypto } from "node:crypto";
import express from "express";
import * as newest from "@a2a-js/sdk";
import * as newestServer from "@a2a-js/sdk/server";
import * as newestExpress from "@a2a-js/sdk/server/express";
import * as oldServer from "@a2a-js/sdk-0.3/server";
import * as oldExpress from "@a2a-js/sdk-0.3/server/express";

globalThis.crypto ??= webcrypto; // Node.js 18 has it under this name only

const { AgentEvent } = newestServer;
const { Role, TaskState } = newest;

// What the agent publishes, as each version of the SDK writes it.
const wires = {
  "1.0": {
    part: (value) => ({ content: { $case: "text", value }, filename: "", mediaType: "text/plain" }),
    message: (ids, parts) => ({ ...ids, messageId: randomUUID(), role: Role.ROLE_AGENT, parts, extensions: [], referenceTaskIds: [] }),
    state: (name) => TaskState[`TASK_STATE_${name.toUpperCase().replace("-", "_")}`],
    published: { message: AgentEvent.message, task: AgentEvent.task, status: AgentEvent.statusUpdate, artifact: AgentEvent.artifactUpdate },
    textOf: (message) => message.parts.map((part) => part.content.value).join(""),
  },
  "0.3": {
    part: (text) => ({ kind: "text", text }),
    message: (ids, parts) => ({ kind: "message", ...ids, messageId: randomUUID(), role: "agent", parts }),
    state: (name) => name,
    published: {
      message: (data) => data,
      task: (data) => ({ kind: "task", ...data }),
      status: (data) => ({ kind: "status-update", final: true, ...data }),
      artifact: (data) => ({ kind: "artifact-update", ...data }),
    },
    textOf: (message) => message.parts.map((part) => part.text).join(""),
  },
};

class Agent {
  constructor(wire) {
    this.wire = wire;
    this.contexts = new Map();
  }

  async execute({ userMessage, task, taskId, contextId }, bus) {
    const { part, message, state, published, textOf } = this.wire;
    const text = textOf(userMessage);
    const context = this.contexts.get(contextId) ?? { turns: 0, word: text.split(" ").at(-1) };
    context.turns++;
    this.contexts.set(contextId, context);
    const reply = `${context.turns} ${context.word}: ${text}`;
    const ids = { taskId, contextId };
    const rest = (name, said) => {
      bus.publish(published.status({ ...ids, status: { state: state(name), message: said && message(ids, [part(said)]), timestamp: new Date().toISOString() } }));
      bus.finished();
    };
    if (text === "throw") throw new Error("the agent has no credit");
    if (!task && !/^(task |ask$|fail$)/.test(text)) {
      bus.publish(published.message(message({ contextId }, [part(reply)])));
      return bus.finished();
    }
    bus.publish(published.task(task ?? { id: taskId, contextId, status: { state: state("submitted") }, artifacts: [], history: [userMessage] }));
    if (text === "ask") return rest("input-required", "Which one?");
    if (text === "fail") return rest("failed", "there are no lamps");
    for (const [at, piece] of reply.split(": ").entries()) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      bus.publish(published.artifact({ ...ids, append: at > 0, lastChunk: at === 1, artifact: { artifactId: "reply", parts: [part(at > 0 ? `: ${piece}` : piece)] } }));
    }
    rest("completed");
  }

  cancelTask = async () => {};
}

const about = {
  name: "Counter",
  description: "Counts what it is told.",
  version: "1.0.0",
  capabilities: { streaming: true, pushNotifications: false },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "count", name: "Count", description: "Counts", tags: ["count"], examples: [] }],
};

const app = express();
const listening = app.listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${listening.address().port}`;
  for (const [version, server, routes] of [["1.0", newestServer, newestExpress], ["both", newestServer, newestExpress], ["0.3", oldServer, oldExpress]]) {
    for (const binding of ["JSONRPC", "HTTP+JSON"]) {
      const base = `/${version}/${binding}`, url = `${address}${base}/agent`;
      const spoken = (version === "both" ? ["0.3", "1.0"] : [version]).map((protocolVersion) => ({ url, protocolBinding: binding, protocolVersion, tenant: "" }));
      const card = version === "0.3"
        ? { ...about, url, protocolVersion: "0.3.0", preferredTransport: binding }
        : { ...about, supportedInterfaces: spoken, securitySchemes: {}, securityRequirements: [], signatures: [] };
      const requestHandler = new server.DefaultRequestHandler(card, new server.InMemoryTaskStore(), new Agent(wires[version] ?? wires["1.0"]));
      const legacyCompat = { enabled: version === "both" };
      const options = { requestHandler, legacyCompat, userBuilder: routes.UserBuilder.noAuthentication };
      const at = base.replace("+", "\\+");
      app.use(`${at}/.well-known/agent-card.json`, routes.agentCardHandler({ agentCardProvider: requestHandler, legacyCompat }));
      app.use(`${at}/agent`, binding === "JSONRPC" ? routes.jsonRpcHandler(options) : routes.restHandler(options));
    }
  }
  console.log(address);
});
