// An agent of Vercel's AI SDK: `node ai.mjs ai` or `node ai.mjs ai-5`. It prints its address. A simulated model looks up orders with a tool, counts
// the user's messages and says the first one's last word, so that a mixed-up conversation shows. POST /api/chat answers with a UI message stream,
// /api/text with a stream of plain text.
import { createServer } from "node:http";

const sdk = process.argv[2];
const { convertToModelMessages, jsonSchema, simulateReadableStream, stepCountIs, streamText, tool, validateUIMessages } = await import(sdk);
const mocks = await import(`${sdk}/test`);
const newest = sdk === "ai";
const Model = newest ? mocks.MockLanguageModelV3 : mocks.MockLanguageModelV2;

const finish = (reason) => ({
  type: "finish",
  finishReason: newest ? { unified: reason, raw: reason } : reason,
  usage: newest ? { inputTokens: { total: 3 }, outputTokens: { total: 5 } } : { inputTokens: 3, outputTokens: 5, totalTokens: 8 },
});

const said = (message) => message.content.filter((part) => part.type === "text").map((part) => part.text).join("");

function text(...pieces) {
  return [{ type: "text-start", id: "t" }, ...pieces.map((delta) => ({ type: "text-delta", id: "t", delta })), { type: "text-end", id: "t" }];
}

function answer(prompt) {
  const users = prompt.filter((message) => message.role === "user").map(said);
  const last = prompt.at(-1);
  if (last.role === "tool") {
    return [...text("The order ", "is ", last.content[0].output.value.status, "."), finish("stop")];
  }
  const message = users.at(-1);
  if (message === "throw") throw new Error("the model has no credit");
  if (message === "break") return [...text("The beg"), { type: "error", error: new Error("the model broke off") }];
  if (message.startsWith("order ")) {
    const input = JSON.stringify({ id: message.slice("order ".length) });
    return [{ type: "tool-call", toolCallId: "call-1", toolName: "get_order", input }, finish("tool-calls")];
  }
  return [...text(`${users.length} `, users[0].split(" ").at(-1), `: ${message}`), finish("stop")];
}

const model = new Model({
  doStream: async ({ prompt }) => ({
    stream: simulateReadableStream({ chunks: [{ type: "stream-start", warnings: [] }, ...answer(prompt)], chunkDelayInMs: said(prompt.at(-1)) === "stop" ? 300 : 2 }),
  }),
});
const tools = {
  get_order: tool({
    description: "Looks up an order",
    inputSchema: jsonSchema({ type: "object", properties: { id: { type: "string" } }, required: ["id"] }),
    execute: async () => ({ status: "shipped" }),
  }),
};

async function chat(request, response) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const messages = await validateUIMessages({ messages: JSON.parse(Buffer.concat(chunks)).messages });
  // "stop" is cut off in the middle of its answer.
  const abortSignal = messages.at(-1).parts[0].text === "stop" ? AbortSignal.timeout(1000) : undefined;
  const result = streamText({ model, abortSignal, tools, stopWhen: stepCountIs(3), onError: () => {}, messages: await convertToModelMessages(messages) });
  if (request.url === "/api/text") return result.pipeTextStreamToResponse(response);
  result.pipeUIMessageStreamToResponse(response, { onError: (error) => error.message });
}

const server = createServer((request, response) => {
  chat(request, response).catch((error) => {
    response.writeHead(400, { "Content-Type": "application/json" }).end(JSON.stringify({ error: error.message }));
  });
});
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}`));
