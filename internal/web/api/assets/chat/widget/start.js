// Puts the button on the page, and window.rehearseChat beside it. What is asked for before the button is there is done then.

/** Chat is the button and the panel in a shadow root of their own. */
class Chat {
  constructor(config, listeners) {
    Object.assign(this, { config, listeners });
    const host = make("div");
    const root = host.attachShadow({ mode: "closed" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(look);
    root.adoptedStyleSheets = [sheet];
    host.style.setProperty("--brand", config.color);
    host.style.setProperty("--brand-ink", inkOn(config.color));
    this.panel = new Panel(config, (event, detail) => listeners.tell(event, detail), () => this.close());
    this.label = make("span");
    this.icon = make("span");
    this.button = make("button", { className: "open", type: "button", onclick: () => (this.panel.box.open ? this.close() : this.open()) }, this.icon, this.label);
    this.button.setAttribute("aria-controls", "panel");
    this.button.setAttribute("aria-haspopup", "dialog");
    root.append(make("div", { className: (given.position ?? config.position) === "left" ? "left" : "" }, this.panel.box, this.button));
    this.face();
    document.body.append(host);
  }

  /** face makes the button say what it does. */
  face() {
    const { open } = this.panel.box;
    this.button.ariaExpanded = String(open);
    this.button.classList.toggle("shut", open);
    this.icon.replaceChildren(drawn(open ? cross : bubble));
    this.label.textContent = open ? this.config.texts.close : given.label ?? this.config.texts.open;
  }

  open() {
    if (this.panel.box.open) return;
    this.panel.show();
    this.face();
    this.listeners.tell("open");
  }

  close() {
    if (!this.panel.box.open) return;
    this.panel.hide();
    this.face();
    this.button.focus();
    this.listeners.tell("close");
  }
}

/** whenThere waits for the page to have a body. */
function whenThere() {
  return document.body ? Promise.resolve() : new Promise((there) => document.addEventListener("DOMContentLoaded", there, { once: true }));
}

async function start(listeners) {
  const [config] = await Promise.all([configured(), whenThere()]);
  if (!config) throw new Error(`there is no chat for the site ${given.site}`);
  const chat = new Chat(config, listeners);
  chat.panel.tell(given.person);
  listeners.tell("ready", { site: given.site });
  return chat;
}

if (!given.site) {
  console.error("chat.js: data-site is missing: <script src=\"…/chat.js\" data-site=\"acme.example\" defer></script>");
} else if (!window.rehearseChat) {
  const listeners = new Listeners();
  const started = start(listeners);
  const later = (act) => { started.then(act).catch(() => {}); }; // why it did not start was told already
  started.catch((fault) => {
    console.error("chat.js:", fault.message);
    listeners.tell("error", { code: "unknown_site", message: fault.message });
  });
  window.rehearseChat = Object.freeze({
    open: () => later((chat) => chat.open()),
    close: () => later((chat) => chat.close()),
    identify: (person) => later((chat) => chat.panel.tell(person === undefined || person === null ? "" : String(person))),
    on: (event, fn) => listeners.add(event, fn),
  });
}
