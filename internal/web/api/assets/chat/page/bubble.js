// One message on the page.
import { element, outward } from "./dom.js";
import { rich } from "./rich.js";
import { shown } from "./markers.js";
import { safeHref } from "./inline.js";
import { texts } from "./config.js";

/** Bubble is what the visitor or the chatbot said. What the visitor said is shown as it was written. */
export class Bubble {
  constructor(who) {
    this.who = who;
    this.text = element("div", "text");
    this.text.dir = "auto";
    this.row = element("li", who, element("span", "heard", `${who === "user" ? texts.you : texts.assistant}: `), this.text);
  }

  wait() {
    const dots = element("span", "dots", element("i"), element("i"), element("i"));
    dots.setAttribute("aria-hidden", "true");
    this.text.replaceChildren(dots);
  }

  show(text) {
    if (this.who === "user") this.text.textContent = text;
    else this.text.replaceChildren(...rich(shown(text)));
  }

  /** draw shows an answer so far, once a frame at most; change is told what changes the page. */
  draw(said, change) {
    const drawing = this.said !== undefined;
    this.said = said;
    if (drawing) return;
    requestAnimationFrame(() => {
      const { said } = this;
      this.said = undefined;
      if (!this.ended && shown(said).trim() !== "") change(() => this.show(said));
    });
  }

  /** finish shows all of an answer: nothing more comes. */
  finish(said) {
    this.ended = true;
    this.show(said);
  }

  /** call puts a call to action below the text, unless its address is none to follow. */
  call({ url, label }, onclick) {
    if (!safeHref(url)) return;
    const link = outward(url, "call", label);
    link.rel = "noopener"; // the site's own page may know where its visitors come from
    link.addEventListener("click", onclick);
    this.row.append(link);
  }

  /** note says something below the text; a bubble without text is only its note. */
  note(message, ...buttons) {
    this.text.hidden = this.text.textContent === "";
    this.row.append(element("div", "note", ...(message ? [element("span", "", message)] : []), ...buttons));
  }
}
