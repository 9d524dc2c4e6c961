// Messages that the visitor may send by a click: starters at first, later suggestions.
import { button } from "./dom.js";
import { shown } from "./markers.js";

const most = 6;

/** Offers fills the place below the conversation; say gets the message that was chosen. */
export class Offers {
  constructor(say) {
    this.say = say;
    this.place = document.getElementById("suggestions");
    this.starters = [...this.place.querySelectorAll("button")].map((starter) => starter.textContent);
    this.show(this.starters);
  }

  show(texts) {
    const offered = [...new Set(texts.map((text) => shown(String(text)).trim()))].filter((text) => text !== "").slice(0, most);
    this.place.replaceChildren(...offered.map((text) => {
      const offer = button(text, () => this.say(text));
      offer.dir = "auto";
      return offer;
    }));
    this.place.hidden = offered.length === 0;
  }
}
