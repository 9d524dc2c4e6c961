// The field in which the visitor writes, with the button that sends and the one that stops.

/** Composer passes what was written to send, unless an answer is still being written. */
export class Composer {
  constructor(send, stop) {
    for (const id of ["composer", "input", "send", "stop"]) this[id] = document.getElementById(id);
    Object.assign(this, { busy: false, onsend: send });
    this.composer.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
    this.stop.addEventListener("click", () => { stop(); this.focus(); });
    this.input.addEventListener("input", () => this.fit());
    this.input.addEventListener("keydown", (event) => {
      this.shifted = event.shiftKey;
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
    this.input.addEventListener("beforeinput", (event) => { // keyboards on glass may name no key
      if (event.inputType !== "insertLineBreak" || this.shifted) return;
      event.preventDefault();
      this.submit();
    });
    this.fit();
  }

  /** fit makes the field as high as its text. */
  fit() {
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight + 2}px`;
    this.send.disabled = this.input.value.trim() === "";
  }

  submit() {
    const text = this.input.value.trim();
    if (this.busy || text === "") return;
    this.input.value = "";
    this.fit();
    this.onsend(text);
  }

  /** answering shows the button that stops in place of the one that sends. */
  answering(on) {
    const focused = [this.send, this.stop].includes(document.activeElement);
    this.busy = on;
    this.send.hidden = on;
    this.stop.hidden = !on;
    if (focused) this.input.focus(); // a button that goes away would take the focus with it
  }

  /** focus puts the cursor into the field, unless that would open a keyboard over the answer. */
  focus() {
    if (!matchMedia("(pointer: coarse)").matches) this.input.focus();
  }
}
