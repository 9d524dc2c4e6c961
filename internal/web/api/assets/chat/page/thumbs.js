// Asks what the visitor thinks of an answer.
import { button, element, icon } from "./dom.js";
import { post } from "./stream.js";
import { site, texts } from "./config.js";

const hand = "M7 11v9H4v-9zM7 11l4-7c1.3 0 2.2 1 2 2.3L12.4 10H18c1.3 0 2.2 1.2 1.9 2.4l-1.5 6c-.2 1-1 1.6-2 1.6H7";

/** Thumbs are two buttons below an answer, and a field for more words once it was found wanting. The entry of the memory keeps the choice. */
export class Thumbs {
  constructor(entry, memory, row) {
    Object.assign(this, { entry, memory, row });
    this.up = this.choice("up", texts.helpful);
    this.down = this.choice("down", texts.not_helpful);
    this.box = element("div", "thumbs", this.up, this.down);
    row.append(this.box);
    this.mark();
  }

  choice(rating, label) {
    const made = button("", () => this.rate(rating));
    made.className = rating;
    made.append(icon(hand), element("span", "heard", label));
    made.title = label;
    return made;
  }

  mark() {
    this.up.ariaPressed = String(this.entry.rating === "up");
    this.down.ariaPressed = String(this.entry.rating === "down");
  }

  /** rate sends a rating. What was not taken is not shown as given. */
  async rate(rating) {
    const before = this.entry.rating;
    this.entry.rating = rating;
    this.mark();
    this.words?.remove();
    if (!await this.send({ rating })) this.entry.rating = before;
    this.mark();
    this.memory.save();
    if (this.entry.rating === "down" && this.box.isConnected) this.askWhy();
  }

  askWhy() {
    const input = Object.assign(element("input"), { type: "text", maxLength: 1000, placeholder: texts.improve, ariaLabel: texts.improve });
    const submit = element("button", "", texts.send);
    this.words = element("form", "why", input, submit);
    this.words.addEventListener("submit", async (event) => {
      event.preventDefault();
      const comment = input.value.trim();
      if (comment === "" || !await this.send({ rating: "down", comment })) return;
      this.words.replaceChildren(texts.thanks);
      this.words.setAttribute("role", "status");
    });
    this.row.append(this.words);
  }

  /** send reports whether the server has taken what the visitor thinks. A server that takes nothing is not asked again. */
  async send(thought) {
    const { session } = this.memory;
    try {
      const response = await post(`/${encodeURIComponent(site)}/${encodeURIComponent(session)}/feedback`, { turn: this.entry.turn, ...thought });
      if (response.status === 404 || response.status === 405) this.remove();
      return response.ok;
    } catch {
      return false;
    }
  }

  remove() {
    this.box.remove();
    this.words?.remove();
  }
}
