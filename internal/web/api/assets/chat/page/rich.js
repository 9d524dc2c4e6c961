// Builds the nodes of an answer from its blocks. No text of it ever becomes HTML.
import { parseBlocks } from "./blocks.js";
import { element, outward } from "./dom.js";
import { texts } from "./config.js";

// A longer answer is shown as it was written: it is none that a chatbot means to give.
const longest = 40_000;

/** rich returns the nodes of a text in Markdown. */
export function rich(text) {
  if (text.length > longest) return [element("p", "", text)];
  return parseBlocks(text).map(build);
}

function build(block) {
  switch (block.kind) {
    case "heading": return element("p", "heading", ...block.children.map(span));
    case "rule": return element("hr");
    case "code": return element("pre", "", element("code", "", block.text));
    case "quote": return element("blockquote", "", ...block.blocks.map(build));
    case "list": return list(block);
    case "table": return table(block);
  }
  return element("p", "", ...block.children.map(span));
}

function list({ ordered, start, items }) {
  const made = element(ordered ? "ol" : "ul");
  if (ordered && start !== 1) made.start = start;
  for (const blocks of items) {
    const [first, ...rest] = blocks;
    const begins = first?.kind === "p" ? first.children.map(span) : blocks.slice(0, 1).map(build);
    made.append(element("li", "", ...begins, ...rest.map(build)));
  }
  return made;
}

/** table is made so that a wide one is scrolled by itself, with the keys, too. */
function table({ head, align, rows }) {
  const cell = (tag) => (children, i) => element(tag, align[i], ...children.map(span));
  const headings = head.map((children, i) => cell(children.length > 0 ? "th" : "td")(children, i)); // a heading without words is none
  for (const one of headings) if (one.tagName === "TH") one.scope = "col";
  const body = rows.map((row) => element("tr", "", ...row.map(cell("td"))));
  const whole = element("table", "", element("thead", "", element("tr", "", ...headings)), element("tbody", "", ...body));
  const frame = element("div", "wide", whole);
  frame.tabIndex = 0;
  frame.setAttribute("role", "group");
  frame.setAttribute("aria-label", texts.table);
  return frame;
}

function span(part) {
  if (typeof part === "string") return document.createTextNode(part);
  switch (part.kind) {
    case "br": return element("br");
    case "code": return element("code", "", part.text);
    case "link": return outward(part.href, "", ...part.children.map(span));
  }
  return element(part.kind, "", ...part.children.map(span)); // strong, em or del
}
