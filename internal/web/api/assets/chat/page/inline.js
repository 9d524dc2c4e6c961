// Reads what stands within a paragraph: bold, italics, code and links. It takes time in proportion to the text, whatever the text is.

/** safeHref is the address of a link that a visitor may follow, and "" for any other. */
export function safeHref(address) {
  try {
    const url = new URL(address);
    const named = ["http:", "https:"].includes(url.protocol) && url.username === "" && url.password === "";
    return named || url.protocol === "mailto:" ? url.href : "";
  } catch {
    return "";
  }
}

const plain = /[^\\`!\[<hH*_~\n]+/y;
const link = /!?\[((?:[^[\]\\]|\\.){0,400})\]\(\s{0,9}<?([^\s<>()]{0,2000}(?:\([^\s<>()]{0,200}\)[^\s<>()]{0,2000}){0,9})>?(?:\s{1,9}"[^"]{0,400}")?\s{0,9}\)/y;
const angled = /<((?:https?:\/\/|mailto:)[^\s<>]{1,2000})>/y;
const bare = /https?:\/\/[^\s<>"`|]{1,2000}/iy;
const maxOpen = 20;

function match(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

/** Writer collects texts and spans; what is open gets them until it is closed. */
class Writer {
  constructor() { this.open = [{ children: [] }]; }

  get top() { return this.open.at(-1).children; }

  add(...parts) {
    for (const part of parts) {
      if (typeof part === "string" && typeof this.top.at(-1) === "string") this.top.push(this.top.pop() + part);
      else if (part !== "") this.top.push(part);
    }
  }

  /** mark takes a run of the signs of emphasis, which closes what is open, opens more, or is text. */
  mark(sign, length, opens, closes) {
    while (closes && length > 0) {
      const at = this.open.findLastIndex((one) => one.sign === sign && one.size <= length);
      if (at < 1) break;
      while (this.open.length > at + 1) this.giveUp();
      const { size, children } = this.open.pop();
      this.add({ kind: sign === "~" ? "del" : size === 2 ? "strong" : "em", children });
      length -= size;
    }
    while (opens && length > 0 && this.open.length < maxOpen && (sign !== "~" || length === 2)) {
      const size = Math.min(length, 2);
      this.open.push({ sign, size, children: [] });
      length -= size;
    }
    this.add(sign.repeat(length));
  }

  /** giveUp makes the last sign that nothing has closed a text again. */
  giveUp() {
    const { sign, size, children } = this.open.pop();
    this.add(sign.repeat(size), ...children);
  }

  end() {
    while (this.open.length > 1) this.giveUp();
    return this.top;
  }
}

/** closers finds for runs of backticks the next run of the same length. */
function closers(text) {
  const byLength = new Map();
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    if (!byLength.has(run.length)) byLength.set(run.length, []);
    byLength.get(run.length).push(index);
  }
  for (const places of byLength.values()) places.reverse();
  return (length, from) => {
    const places = byLength.get(length) ?? [];
    while (places.length > 0 && places.at(-1) < from) places.pop();
    return places.at(-1) ?? -1;
  };
}

const isWord = (character) => /[\p{L}\p{N}]/u.test(character);
const isBlank = (character) => /^\s?$/.test(character);

/** parseInline reads a text as a list of texts and of spans {kind, children | text | href}. Within a link there are no links. */
export function parseInline(text, linked = true) {
  const out = new Writer();
  const close = closers(text);
  const readers = {
    "\n": () => { out.add({ kind: "br" }); return 1; },
    "\\": (at) => { const escaped = /[!-/:-@[-`{-~]/.test(text[at + 1] ?? ""); out.add(escaped ? text[at + 1] : "\\"); return escaped ? 2 : 1; },
    "`": (at) => readCode(at), "[": (at) => readLink(at), "!": (at) => readLink(at), "<": (at) => readAngled(at),
    h: (at) => readBare(at), H: (at) => readBare(at), "*": (at) => readMark(at), _: (at) => readMark(at), "~": (at) => readMark(at),
  };

  function readCode(at) {
    const length = match(/`+/y, text, at)[0].length;
    const end = close(length, at + length);
    if (end < 0) { out.add("`".repeat(length)); return length; }
    out.add({ kind: "code", text: unpadded(text.slice(at + length, end).replaceAll("\n", " ")) });
    return end + length - at;
  }

  // An address that nobody may follow leaves the whole text as it was written, so that nothing is hidden.
  function readLink(at) {
    const found = linked && match(link, text, at);
    const href = found && safeHref(found[2]);
    if (!href) { out.add(text[at]); return 1; }
    out.add({ kind: "link", href, children: found[1].trim() === "" ? [href] : parseInline(found[1], false) });
    return found[0].length;
  }

  function readAngled(at) {
    const found = linked && match(angled, text, at);
    const href = found && safeHref(found[1]);
    if (!href) { out.add("<"); return 1; }
    out.add({ kind: "link", href, children: [found[1].replace(/^mailto:/, "")] });
    return found[0].length;
  }

  function readBare(at) {
    const found = linked && (at === 0 || /[\s(*_~]/.test(text[at - 1])) && match(bare, text, at);
    const address = found ? withoutEnd(found[0]) : "";
    const href = safeHref(address);
    if (!href) { out.add(text[at]); return 1; }
    out.add({ kind: "link", href, children: [address] });
    return address.length;
  }

  function readMark(at) {
    const run = match(/\*+|_+|~+/y, text, at)[0];
    const before = text[at - 1] ?? "";
    const after = text[at + run.length] ?? "";
    const within = run[0] === "_" && isWord(before) && isWord(after);
    out.mark(run[0], run.length, !within && !isBlank(after), !within && !isBlank(before));
    return run.length;
  }

  for (let at = 0; at < text.length;) {
    const chunk = match(plain, text, at);
    if (chunk) { out.add(chunk[0]); at += chunk[0].length; } else at += readers[text[at]](at);
  }
  return out.end();
}

/** unpadded is code without the blank on either side that lets it begin or end with a backtick. */
function unpadded(code) {
  return code.startsWith(" ") && code.endsWith(" ") && code.trim() !== "" ? code.slice(1, -1) : code;
}

/** withoutEnd is an address without the signs behind it that belong to the sentence. */
function withoutEnd(address) {
  let end = address.length;
  const open = address.split("(").length - 1;
  let closed = address.split(")").length - 1;
  for (; end > 0; end--) {
    const last = address[end - 1];
    if (last === ")" && closed > open) closed--;
    else if (!".,:;!?'*_~".includes(last)) break;
  }
  return address.slice(0, end);
}
