// Tells the page around what happens.
const events = ["ready", "open", "close", "message", "answer", "cta", "error"];

/** Listeners are the functions of the page around. One that fails keeps none of the others from being called. */
class Listeners {
  constructor() {
    this.byEvent = Object.fromEntries(events.map((event) => [event, new Set()]));
    this.ready = null;
  }

  /** add adds a function, and returns one that takes it away. Whoever comes late is told that the chat is ready. */
  add(event, fn) {
    if (!events.includes(event) || typeof fn !== "function") throw new TypeError(`rehearseChat.on: use one of ${events.join(", ")}, and a function`);
    this.byEvent[event].add(fn);
    if (event === "ready" && this.ready) queueMicrotask(() => this.call(fn, this.ready));
    return () => { this.byEvent[event].delete(fn); };
  }

  tell(event, detail = {}) {
    if (event === "ready") this.ready = detail;
    for (const fn of [...(this.byEvent[event] ?? [])]) this.call(fn, detail);
  }

  call(fn, detail) {
    try {
      fn(detail);
    } catch (fault) {
      console.error("rehearseChat: a listener failed:", fault);
    }
  }
}
