// How the button and the panel look. Nothing of the page around reaches them, and nothing of them the page.
const look = `
  :host { all: initial; color-scheme: light dark; --card: #ffffff; --ink: #211f1b; --soft: #635e55; --line: #d2cbbf; --ring: #211f1b; }
  @media (prefers-color-scheme: dark) { :host { --card: #24221f; --ink: #ece8e0; --soft: #aba498; --line: #4a463f; --ring: #ece8e0; } }
  * { box-sizing: border-box; }
  button, a { font: 600 16px/1.2 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; cursor: pointer; }
  button:focus-visible, a:focus-visible { outline: 3px solid var(--ring); outline-offset: 2px; }
  .open {
    position: fixed; inset: auto 20px max(20px, env(safe-area-inset-bottom)) auto; z-index: 2147483001;
    display: inline-flex; align-items: center; gap: 10px; min-height: 52px; max-width: calc(100vw - 40px); padding: 0 22px 0 18px;
    border: 1px solid color-mix(in srgb, var(--brand-ink) 30%, transparent); border-radius: 26px;
    background: var(--brand); color: var(--brand-ink); box-shadow: 0 3px 14px rgb(0 0 0 / 0.25);
  }
  .open span { display: grid; }
  .open.shut { gap: 0; width: 52px; padding: 0; justify-content: center; }
  .open.shut span + span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .left .open { inset: auto auto max(20px, env(safe-area-inset-bottom)) 20px; }
  svg { flex: none; width: 24px; height: 24px; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }
  dialog {
    position: fixed; inset: auto 20px 86px auto; z-index: 2147483000; width: min(400px, 100vw - 40px); height: min(660px, 100dvh - 110px);
    max-width: none; max-height: none; margin: 0; padding: 0; overflow: hidden; border: 1px solid var(--line); border-radius: 18px;
    background: var(--card); color: var(--ink); box-shadow: 0 8px 36px rgb(0 0 0 / 0.25);
  }
  .left dialog { inset: auto auto 86px 20px; }
  dialog::backdrop { background: none; }
  dialog:focus { outline: none; }
  iframe { display: block; width: 100%; height: 100%; border: 0; }
  .veil { position: absolute; inset: 0; display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 16px; padding: 56px 28px; background: var(--card); text-align: center; }
  .veil p { margin: 0; font: 400 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif; }
  .veil a { padding: 12px 20px; border: 1px solid var(--ring); border-radius: 24px; background: var(--brand); color: var(--brand-ink); text-decoration: none; }
  .veil button { position: absolute; top: 10px; right: 10px; display: grid; place-items: center; width: 40px; height: 40px; border: 0; border-radius: 20px; background: none; color: var(--soft); }
  .dots { display: flex; gap: 6px; }
  .dots i { width: 8px; height: 8px; border-radius: 4px; background: var(--soft); animation: breathe 1.2s infinite ease-in-out; }
  .dots i:nth-child(2) { animation-delay: 0.15s; }
  .dots i:nth-child(3) { animation-delay: 0.3s; }
  @keyframes breathe { 0%, 60%, 100% { opacity: 0.3; } 30% { opacity: 1; } }
  @media (prefers-reduced-motion: reduce) { .dots i { animation: none; opacity: 0.7; } }
  [hidden] { display: none !important; }
  @media (max-width: 640px) {
    dialog, .left dialog { inset: 0; width: 100vw; height: 100vh; height: 100dvh; border: 0; border-radius: 0; box-shadow: none; }
  }`;

/** make makes an element with properties and content. */
function make(tag, properties, ...content) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...content);
  return made;
}

/** drawn is an icon for the eye only. */
function drawn(path) {
  const [svg, line] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

const bubble = "M4 6.5A2.5 2.5 0 0 1 6.5 4h11A2.5 2.5 0 0 1 20 6.5v7a2.5 2.5 0 0 1-2.5 2.5H11l-5 4v-4.05A2.5 2.5 0 0 1 4 13.5z";
const cross = "M6 6l12 12M18 6L6 18";

/** inkOn is black or white, whichever is easier to read on a colour (WCAG 2.2, relative luminance). */
function inkOn(color) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}
