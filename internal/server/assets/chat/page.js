// The page that talks to a site's chatbot. What comes from the chatbot is shown as text only, never as HTML.

const markers = ["👉", "👇", "💌"];

/** strip removes the markers for display, each with its skin tone or variation selector and one space. */
export function strip(text) {
  for (const marker of markers) {
    text = text.replace(new RegExp(`${marker}[\\u{1F3FB}-\\u{1F3FF}\\uFE0F]? ?`, "gu"), "");
  }
  return text;
}

/** shown is what can be shown of an answer so far; the first half of a character waits for the second. */
export function shown(answer) {
  return strip(answer.replace(/[\uD800-\uDBFF]$/, ""));
}

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

/** Refusal is why there is no answer, or no more of it, in words for the visitor. */
class Refusal extends Error {}

const unreachable = "The server cannot be reached. Check your connection and try again.";
const brokenOff = "The answer broke off. Try again in a moment.";

/** ask sends a message and yields the events of the answer. */
async function* ask(message, signal) {
  const response = await fetch(new URL("../api/v1/chat", location.href), {
    method: "POST", headers: { "Content-Type": "application/json", Accept: "text/event-stream" }, body: JSON.stringify(message), signal,
  });
  if (!response.ok) throw new Refusal(await reasonOf(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Refusal(brokenOff);
    for (const event of events.feed(value)) {
      yield event;
      if (event.type === "complete") return;
      if (event.type === "error") throw new Refusal(brokenOff);
    }
  }
}

async function reasonOf(response) {
  switch (response.status) {
    case 404: return "There is no chatbot for this site.";
    case 413: return "Your message is too long. Shorten it and try again.";
    case 429: return "Your last message is still being answered. Try again in a moment.";
    case 401: case 403: return "This chat is not open to you.";
    case 503: return "Many people are chatting right now. Try again in a moment.";
  }
  if (response.status >= 500) return "The chatbot could not answer. Try again in a moment.";
  const { detail = `error ${response.status}` } = await response.json().catch(() => ({}));
  return `This could not be sent: ${detail}.`;
}

/** Memory keeps the conversation while the tab is open, where the browser allows it. */
class Memory {
  constructor(site) {
    this.key = `rehearse-chat:${site}`;
    this.renew();
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.key));
      if (typeof kept?.session === "string" && Array.isArray(kept.said)) Object.assign(this, { session: kept.session, said: kept.said });
    } catch { /* nothing is kept */ }
    this.save();
  }

  renew() {
    const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is for secure pages only
    this.session = Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
    this.said = [];
  }

  add(who, text) {
    this.said = [...this.said, { who, text }].slice(-100);
    this.save();
  }

  save() {
    try {
      sessionStorage.setItem(this.key, JSON.stringify({ session: this.session, said: this.said }));
    } catch { /* full, or forbidden: the page works without */ }
  }
}

function element(tag, className = "", ...content) {
  const made = document.createElement(tag);
  made.className = className;
  made.append(...content);
  return made;
}

function button(label, onclick) {
  const made = element("button", "", label);
  made.type = "button";
  made.addEventListener("click", onclick);
  return made;
}

/** Bubble is one message on the page. */
class Bubble {
  constructor(who) {
    this.text = element("div", "text");
    this.text.dir = "auto";
    this.row = element("li", who, element("span", "heard", who === "user" ? "You: " : "Answer: "), this.text);
  }

  wait() {
    const dots = element("span", "dots", element("i"), element("i"), element("i"));
    dots.setAttribute("aria-hidden", "true");
    this.text.replaceChildren(dots);
  }

  show(text) { this.text.textContent = text; }

  /** finish shows all of an answer: nothing more comes. */
  finish(said) {
    this.ended = true;
    this.show(shown(said));
  }

  /** note says something below the text; a bubble without text is only its note. */
  note(message, ...buttons) {
    this.text.hidden = this.text.textContent === "";
    this.row.append(element("div", "note", element("span", "", message), ...buttons));
  }
}

/** Page is the conversation as one sees it. */
class Page {
  constructor(site, language) {
    Object.assign(this, { site, language, reveal: window.reveal, answering: null });
    for (const id of ["scroller", "log", "suggestions", "composer", "input", "send", "stop", "renew", "status"]) {
      this[id] = document.getElementById(id);
    }
    document.getElementById("site").textContent = document.title = site;
    this.memory = new Memory(site);
    for (const { who, text } of this.memory.said) this.bubble(who === "user" ? "user" : "bot").show(shown(String(text)));
    this.listen();
    this.fit();
    this.toEnd();
    this.input.focus();
  }

  listen() {
    this.composer.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    this.input.addEventListener("input", () => this.fit());
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
    this.stop.addEventListener("click", () => { this.answering?.abort(); this.input.focus(); });
    this.renew.addEventListener("click", () => this.startAgain());
  }

  /** fit makes the input as high as its text. */
  fit() {
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight + 2}px`;
    this.send.disabled = this.input.value.trim() === "";
  }

  submit() {
    const text = this.input.value;
    if (this.answering || text.trim() === "") return;
    this.input.value = "";
    this.fit();
    this.say(text);
  }

  startAgain() {
    this.answering?.abort();
    this.answering = null;
    this.memory.renew();
    this.memory.save();
    this.log.replaceChildren();
    this.suggest([]);
    this.busy(false);
    this.status.textContent = "New conversation";
    this.input.focus();
  }

  say(text) {
    this.bubble("user").show(text);
    this.memory.add("user", text);
    this.input.focus();
    return this.answer(text);
  }

  /** answer asks for an answer and shows it while it comes. */
  async answer(text) {
    const bubble = this.bubble("bot");
    const turn = this.answering = new AbortController();
    this.suggest([]);
    this.busy(true);
    bubble.wait();
    this.toEnd();
    let said = "";
    try {
      for await (const event of ask(this.message(text), turn.signal)) {
        if (this.answering !== turn) return;
        if (event.type === "token") this.draw(bubble, said += event.content);
        if (event.type === "complete") this.complete(bubble, said, event.metadata ?? {});
      }
    } catch (reason) {
      if (this.answering === turn) this.fail(bubble, said, text, reason, turn.signal.aborted);
    }
    if (this.answering === turn) this.busy(false);
  }

  message(text) {
    const { site, language, reveal, memory } = this;
    return { site_name: site, session_id: memory.session, input: text, ...(language && { language }), ...(isObject(reveal) && { reveal }) };
  }

  /** draw shows an answer so far, once a frame at most. */
  draw(bubble, said) {
    const first = bubble.said === undefined;
    bubble.said = said;
    if (!first && bubble.drawing) return;
    bubble.drawing = true;
    requestAnimationFrame(() => {
      bubble.drawing = false;
      if (!bubble.ended && shown(bubble.said) !== "") this.follow(() => bubble.show(shown(bubble.said)));
    });
  }

  complete(bubble, said, metadata) {
    this.memory.add("bot", said);
    this.status.textContent = `Answer: ${shown(said)}`;
    this.follow(() => {
      bubble.finish(said);
      this.suggest([...(metadata.suggested_answers ?? []), ...(metadata.suggested_follow_ups ?? [])]);
    });
  }

  fail(bubble, said, text, reason, stopped) {
    const message = stopped ? "Stopped." : reason instanceof Refusal ? reason.message : unreachable;
    const again = button("Try again", () => {
      bubble.row.remove();
      this.input.focus();
      this.answer(text);
    });
    this.status.textContent = message;
    this.follow(() => {
      bubble.finish(said);
      bubble.note(message, again);
      bubble.row.classList.toggle("failed", !stopped);
    });
  }

  bubble(who) {
    const made = new Bubble(who);
    this.log.append(made.row);
    return made;
  }

  busy(on) {
    if (!on) this.answering = null;
    this.send.hidden = on;
    this.stop.hidden = !on;
    if (on) for (const again of this.log.querySelectorAll("button")) again.remove(); // only the last message can be sent again
  }

  /** suggest offers messages to send by a click. */
  suggest(texts) {
    const offered = [...new Set(texts.map((text) => shown(String(text)).trim()))].filter((text) => text !== "").slice(0, 6);
    this.suggestions.replaceChildren(...offered.map((text) => button(text, () => this.answering || this.say(text))));
    this.suggestions.hidden = offered.length === 0;
  }

  /** follow changes the page and keeps its end in sight, unless the visitor reads further up. */
  follow(change) {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    change();
    if (scrollHeight - scrollTop - clientHeight < 80) this.toEnd();
  }

  toEnd() { this.scroller.scrollTop = this.scroller.scrollHeight; }
}

function isObject(value) { return typeof value === "object" && value !== null && !Array.isArray(value); }

/** openPage starts the page; inside another page it listens to the script that put it there. */
function openPage() {
  const page = new Page(decodeURIComponent(location.pathname.split("/").pop()), new URLSearchParams(location.search).get("language"));
  if (window.parent === window) return;
  window.addEventListener("message", ({ source, data }) => {
    if (source === window.parent && data?.type === "rehearse-chat-reveal") page.reveal = data.reveal;
  });
  window.addEventListener("keydown", (event) => {
    if (event.key === "Escape") window.parent.postMessage({ type: "rehearse-chat-close" }, "*");
  });
}

if (typeof document !== "undefined") openPage();
