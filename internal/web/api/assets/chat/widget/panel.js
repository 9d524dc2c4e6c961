// The panel with the frame in which the chat is. It fills narrow windows, and is a part of the page in others.

// A frame that is refused says nothing, so it is waited for: shortly once something was loaded, longer before.
const refusedAfter = 3000;
const givenUpAfter = 20000;

/** Panel shows the chat in a frame. said gets what the chat says, closed is called when the visitor leaves. */
class Panel {
  constructor(config, said, closed) {
    Object.assign(this, { config, said, closed, greeted: false, narrow: matchMedia("(max-width: 640px)") });
    this.dots = make("span", { className: "dots" }, make("i"), make("i"), make("i"));
    this.words = make("p", { hidden: true, textContent: config.texts.refused });
    this.words.setAttribute("role", "alert");
    this.away = make("a", { href: address.href, target: "_blank", rel: "noopener", textContent: config.texts.open_page, hidden: true });
    const leave = make("button", { type: "button", ariaLabel: config.texts.close, onclick: closed }, drawn(cross));
    this.veil = make("div", { className: "veil" }, this.dots, this.words, this.away, leave);
    this.box = make("dialog", { id: "panel", ariaLabel: config.title }, this.veil);
    this.box.addEventListener("cancel", (event) => { event.preventDefault(); closed(); });
    this.box.addEventListener("keydown", (event) => { if (event.key === "Escape") { event.preventDefault(); closed(); } });
    this.narrow.addEventListener("change", () => { if (this.box.open) { this.hide(); this.show(); } });
    window.addEventListener("message", (event) => this.hear(event));
    document.addEventListener("securitypolicyviolation", (event) => this.violated(event));
  }

  /** show opens the panel; the chat is loaded when it is opened first. */
  show() {
    if (!this.narrow.matches) this.box.show();
    else {
      this.box.showModal();
      this.scrolls = document.documentElement.style.overflow;
      document.documentElement.style.overflow = "hidden"; // the page behind stays where it is
    }
    if (!this.frame) this.load();
    this.frame.focus();
  }

  hide() {
    this.box.close();
    if (this.scrolls !== undefined) document.documentElement.style.overflow = this.scrolls;
    this.scrolls = undefined;
  }

  load() {
    this.frame = make("iframe", { title: this.config.title, src: address.href });
    this.frame.addEventListener("load", () => this.waitFor(refusedAfter));
    this.waitFor(givenUpAfter);
    this.box.prepend(this.frame);
  }

  waitFor(time) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.refused(), time);
  }

  violated({ effectiveDirective, blockedURI }) {
    if (this.frame && effectiveDirective === "frame-src" && blockedURI.startsWith(address.origin)) this.refused();
  }

  /** refused says in words that the chat is not shown here, with a way to it. */
  refused() {
    if (this.greeted || !this.words.hidden) return;
    this.dots.hidden = true;
    this.words.hidden = this.away.hidden = false;
    if (this.box.open) this.away.focus();
    this.said("error", { code: "frame_refused", message: this.config.texts.refused });
  }

  hear({ source, data }) {
    if (!this.frame || source !== this.frame.contentWindow || data?.type !== "rehearse-chat") return;
    if (data.event === "close") this.closed();
    else if (data.event === "ready") this.greet();
    else this.said(data.event, data.detail);
  }

  greet() {
    this.greeted = true;
    clearTimeout(this.timer);
    this.veil.hidden = true;
    this.tell();
    if (this.box.open) this.frame.focus();
  }

  /** tell tells the chat who the visitor is, as far as the page knows. */
  tell(person = this.person) {
    this.person = person;
    if (!this.greeted) return;
    try {
      this.frame.contentWindow.postMessage({ type: "rehearse-chat-visitor", person, reveal: window.reveal }, address.origin);
    } catch { // window.reveal holds something that cannot be passed on
      this.frame.contentWindow.postMessage({ type: "rehearse-chat-visitor", person }, address.origin);
    }
  }
}
