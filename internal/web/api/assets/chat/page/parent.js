// Talks with the page that shows this one in a frame. Only the origins that the server names may do that.

const maxPerson = 200;

/** Parent knows the visitor from the page around, and tells it what happens. Without such a page it does nothing. */
export class Parent {
  constructor() {
    Object.assign(this, { framed: window.parent !== window, person: "", reveal: isObject(window.reveal) ? window.reveal : null });
  }

  /** listen takes who the visitor is, whenever the page around says so; close is what the visitor does to leave. */
  listen(closer) {
    if (!this.framed) return;
    closer.hidden = false;
    closer.addEventListener("click", () => this.tell("close"));
    window.addEventListener("keydown", (event) => { if (event.key === "Escape" && !event.isComposing) this.tell("close"); });
    window.addEventListener("message", ({ source, data }) => {
      if (source !== window.parent || data?.type !== "rehearse-chat-visitor") return;
      this.person = printable(data.person);
      this.reveal = isObject(data.reveal) ? data.reveal : null;
    });
    this.tell("ready");
  }

  tell(event, detail = {}) {
    if (this.framed) window.parent.postMessage({ type: "rehearse-chat", event, detail }, "*");
  }

  /** visitor is what a message says of the visitor. */
  visitor() {
    return { ...(this.person && { person_id: this.person }), ...(this.reveal && { reveal: this.reveal }) };
  }
}

// The server refuses ids that are long or hold signs that cannot be seen.
function printable(person) {
  if (typeof person !== "string" && typeof person !== "number") return "";
  return [...String(person).replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu, "")].slice(0, maxPerson).join("").trim();
}

function isObject(value) { return typeof value === "object" && value !== null && !Array.isArray(value); }
