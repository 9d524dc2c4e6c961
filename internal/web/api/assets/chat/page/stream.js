// Sends a message and reads the events of its answer.

/** EventReader reads server-sent events from pieces of a stream, wherever those are cut. */
export class EventReader {
  #rest = "";

  /** feed takes the next piece and returns the events that are complete. */
  feed(piece) {
    const blocks = (this.#rest + piece).split(/\r?\n\r?\n/);
    this.#rest = blocks.pop();
    return blocks.map(dataOf).filter((data) => data !== "").map((data) => JSON.parse(data));
  }
}

function dataOf(block) {
  const lines = block.split(/\r?\n/).filter((line) => line.startsWith("data:"));
  return lines.map((line) => line.slice(5).replace(/^ /, "")).join("\n");
}

/** Refusal is why there is no answer, or no more of it. Its message is the key of a text; detail has the server's own words for the visitor. */
export class Refusal extends Error {
  constructor(key, code = key, detail = "") {
    super(key);
    Object.assign(this, { code, detail });
  }
}

// The server says these in the visitor's language.
const spoken = ["rate_limited", "too_many_turns", "site_busy", "budget_spent", "session_full"];
const keys = { 401: "closed", 403: "closed", 404: "missing", 413: "too_long", 429: "busy" };

// The answer before may still be ending: its suggestions are given up as soon as the next message is there.
const attempts = 15;

/** ask sends a message and yields the events of the answer. The last one is complete; anything else throws. */
export async function* ask(message, signal) {
  const response = await send(message, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Refusal("broken_off");
    for (const event of events.feed(value)) {
      if (event.type === "error") throw new Refusal("broken_off", event.code);
      yield event;
      if (event.type === "complete") return;
    }
  }
}

async function send(message, signal) {
  for (let attempt = 1; ; attempt++) {
    const response = await post("?answered=1", message, signal);
    if (response.ok) return response;
    const problem = await response.json().catch(() => ({}));
    if (problem.error !== "session_busy" || attempt === attempts) throw refusal(response.status, problem);
    await pause(attempt === 1 ? 300 : 1000, signal);
  }
}

function refusal(status, { code = `status_${status}`, detail }) {
  if (spoken.includes(code) && detail) return new Refusal("", code, detail);
  return new Refusal(keys[status] ?? (status >= 500 ? "unavailable" : "not_sent"), code);
}

/** pause waits, unless the signal comes first. */
function pause(time, signal) {
  return new Promise((resume, fail) => {
    const timer = setTimeout(resume, time);
    signal.addEventListener("abort", () => { clearTimeout(timer); fail(signal.reason); }, { once: true });
  });
}

/** post sends an object to the chat, or to a place below it. */
export function post(below, body, signal) {
  return fetch(new URL(`../api/v1/chat${below}`, location.href), {
    method: "POST", headers: { "Content-Type": "application/json", Accept: "text/event-stream" }, body: JSON.stringify(body), signal,
  });
}
