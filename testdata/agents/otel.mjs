// An agent whose turns OpenTelemetry's own SDK traces, and a collector that keeps what its exporter sends: a line for each request, under /traces.
import { createServer } from "node:http";
import { context, SpanKind, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";

const received = [];
const collector = createServer((request, response) => {
  if (request.method === "GET") return response.end(received.map((body) => body + "\n").join(""));
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    received.push(Buffer.concat(chunks).toString());
    response.setHeader("Content-Type", "application/json");
    response.end("{}");
  });
});
await new Promise((listening) => collector.listen(0, "127.0.0.1", listening));
const address = `http://127.0.0.1:${collector.address().port}`;

const provider = new TracerProvider({
  resource: resourceFromAttributes({ "service.name": "tea-shop" }),
  spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url: `${address}/v1/traces` }), maxExportBatchSize: 3 })],
});
const tracer = provider.getTracer("tea-shop");
const message = (role, text) => ({ role, parts: [{ type: "text", content: text }] });

// A turn is a span around the call of a model, which has messages of its own: the instruction among them.
function turn(session, number, asked, said, from, to) {
  const start = Date.UTC(2026, 2, 1, session, number);
  const span = tracer.startSpan("invoke_agent tea", {
    kind: SpanKind.INTERNAL, startTime: start,
    attributes: {
      "gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": `talk-${session}`, "user.id": `ann-${session}`, "rehearse.flow_id": "tea",
      "rehearse.state": from, "rehearse.next_state": to, "rehearse.turn_number": number,
      ...(to === "done" ? { "rehearse.outcome": "completed", "rehearse.data": JSON.stringify({ kind: asked }) } : {}),
      "gen_ai.input.messages": JSON.stringify([message("user", asked)]), "gen_ai.output.messages": JSON.stringify([{ ...message("assistant", said), finish_reason: "stop" }]),
    },
  });
  const inner = tracer.startSpan("chat small", {
    kind: SpanKind.CLIENT, startTime: start + 10,
    attributes: {
      "gen_ai.operation.name": "chat", "gen_ai.request.model": "small", "gen_ai.usage.input_tokens": 12, "gen_ai.request.stop_sequences": ["\n"],
      "gen_ai.input.messages": JSON.stringify([message("system", "Sell tea."), message("user", asked)]), "gen_ai.output.messages": JSON.stringify([message("assistant", said)]),
    },
  }, trace.setSpan(context.active(), span));
  inner.end(start + 400);
  span.end(start + 500);
}
for (const [session, kind] of [[1, "green"], [2, "black, “strong” 🍵"]]) {
  turn(session, 1, "Hello", "Green or black?", "start", "ask");
  turn(session, 2, kind, "Here you are.", "ask", "done");
}
await provider.forceFlush();
console.log(address);
