// Puts a chat into a page: <script src="https://chat.example/chat.js" data-site="acme.example" defer></script>
// data-label is the text of the button ("Chat"), data-language that of fixed messages, such as fr.
(() => {
  const script = document.currentScript;
  const { site, label = "Chat", language } = script.dataset;
  if (!site) {
    console.error("chat.js: data-site is missing: <script src=\"…/chat.js\" data-site=\"acme.example\" defer></script>");
    return;
  }
  const address = new URL(`chat/${encodeURIComponent(site)}`, script.src);
  if (language) address.searchParams.set("language", language);

  const look = `
    :host { all: initial; color-scheme: light dark; --button: #3355a8; --ink: #ffffff; --ring: #3355a8; --line: #d2cbbf; }
    @media (prefers-color-scheme: dark) { :host { --button: #a3bbff; --ink: #131d36; --ring: #a3bbff; --line: #4a463f; } }
    button {
      position: fixed; right: 20px; bottom: 20px; z-index: 2147483001;
      min-width: 76px; min-height: 48px; padding: 0 22px; border: 0; border-radius: 24px;
      background: var(--button); color: var(--ink); font: 600 16px/1 system-ui, sans-serif; cursor: pointer; box-shadow: 0 3px 14px rgb(0 0 0 / 0.25);
    }
    button:focus-visible { outline: 2px solid var(--ring); outline-offset: 3px; }
    .panel {
      position: fixed; right: 20px; bottom: 82px; z-index: 2147483000; width: min(400px, 100vw - 40px); height: min(640px, 100vh - 110px);
      overflow: hidden; border: 1px solid var(--line); border-radius: 18px; box-shadow: 0 8px 36px rgb(0 0 0 / 0.25);
    }
    .panel[hidden] { display: none; }
    iframe { display: block; width: 100%; height: 100%; border: 0; }
    @media (max-width: 480px) { .panel { right: 8px; width: calc(100vw - 16px); height: calc(100vh - 92px); } button { right: 8px; } }`;

  function make(tag, properties) { return Object.assign(document.createElement(tag), properties); }

  function open() {
    const host = make("div");
    const root = host.attachShadow({ mode: "closed" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(look);
    root.adoptedStyleSheets = [sheet];
    const panel = make("div", { className: "panel", id: "panel", hidden: true, role: "dialog", ariaLabel: label });
    const button = make("button", { type: "button", textContent: label, ariaExpanded: "false" });
    button.setAttribute("aria-controls", "panel");
    root.append(panel, button);
    document.body.append(host);

    let frame;
    function toggle() {
      panel.hidden = !panel.hidden;
      button.ariaExpanded = String(!panel.hidden);
      button.textContent = panel.hidden ? label : "Close";
      if (panel.hidden) return;
      if (frame) frame.focus();
      else panel.append(frame = chatFrame());
    }
    function close() {
      if (!panel.hidden) toggle();
      button.focus();
    }
    button.addEventListener("click", toggle);
    root.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
    window.addEventListener("message", ({ source, data }) => {
      if (frame && source === frame.contentWindow && data?.type === "rehearse-chat-close") close();
    });
  }

  // The chat is loaded when it is opened first, and told what this page knows of the visitor's company.
  function chatFrame() {
    const frame = make("iframe", { title: label, src: address.href });
    frame.addEventListener("load", () => {
      frame.focus();
      if (!window.reveal) return;
      try {
        frame.contentWindow.postMessage({ type: "rehearse-chat-reveal", reveal: window.reveal }, address.origin);
      } catch { /* it holds something that cannot be passed on */ }
    });
    return frame;
  }

  if (document.body) open();
  else document.addEventListener("DOMContentLoaded", open);
})();
