// Reads the Markdown of an answer as blocks: paragraphs, lists, tables and code. HTML and pictures are not among them: they stay text.
import { parseInline } from "./inline.js";

const maxDepth = 6;
const maxCells = 20;

const fence = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const heading = /^ {0,3}#{1,6}[ \t]+/;
const rule = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const quote = /^ {0,3}> ?/;
const bullet = /^( *)([-*+]|\d{1,9}[.)])([ \t]+|$)/;

const isBlank = (line) => line.trim() === "";

/** parseBlocks reads a text as a list of blocks {kind, …}. */
export function parseBlocks(text) { return blocksOf(text.replace(/\r\n?/g, "\n").split("\n"), 0); }

function blocksOf(lines, depth) {
  if (depth > maxDepth) return [{ kind: "p", children: parseInline(lines.join("\n")) }];
  const blocks = [];
  for (let at = 0; at < lines.length;) {
    if (isBlank(lines[at])) { at++; continue; }
    const [block, end] = blockAt(lines, at, depth);
    blocks.push(block);
    at = end;
  }
  return blocks;
}

/** blockAt reads the block that begins at a line, and says where the next one may begin. */
function blockAt(lines, at, depth) {
  const line = lines[at];
  if (fence.test(line)) return codeAt(lines, at);
  if (heading.test(line)) return [{ kind: "heading", children: parseInline(line.replace(heading, "").trim()) }, at + 1];
  if (rule.test(line)) return [{ kind: "rule" }, at + 1];
  if (quote.test(line)) return quoteAt(lines, at, depth);
  if (bullet.test(line)) return listAt(lines, at, depth);
  return tableAt(lines, at) ?? paragraphAt(lines, at);
}

/** interrupts reports whether a line ends the paragraph above it. */
function interrupts(line) { return fence.test(line) || heading.test(line) || rule.test(line) || quote.test(line) || bullet.test(line); }

function paragraphAt(lines, at) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && !interrupts(lines[end]) && !tableAt(lines, end)) end++;
  return [{ kind: "p", children: parseInline(lines.slice(at, end).map((line) => line.trim()).join("\n")) }, end];
}

function codeAt(lines, at) {
  const mark = fence.exec(lines[at])[1];
  const closes = (line) => line.trim().startsWith(mark) && line.trim().replaceAll(mark[0], "") === "";
  let end = at + 1;
  while (end < lines.length && !closes(lines[end])) end++;
  return [{ kind: "code", text: lines.slice(at + 1, end).join("\n") }, end + 1];
}

function quoteAt(lines, at, depth) {
  let end = at;
  while (end < lines.length && quote.test(lines[end])) end++;
  return [{ kind: "quote", blocks: blocksOf(lines.slice(at, end).map((line) => line.replace(quote, "")), depth + 1) }, end];
}

function listAt(lines, at, depth) {
  const [, spaces, first] = bullet.exec(lines[at]);
  const ordered = /\d/.test(first);
  const items = [];
  while (at < lines.length) {
    const found = bullet.exec(lines[at]);
    if (!found || found[1].length > spaces.length + 1 || found[1].length < spaces.length || /\d/.test(found[2]) !== ordered || rule.test(lines[at])) break;
    const end = itemEnd(lines, at + 1, found);
    const inner = [lines[at].slice(found[0].length), ...lines.slice(at + 1, end).map((line) => dedent(line, found[0].length))];
    items.push(blocksOf(inner, depth + 1));
    at = end;
  }
  return [{ kind: "list", ordered, start: ordered ? parseInt(first, 10) : 1, items }, at];
}

/** itemEnd finds where an item of a list ends: before the next item, or a blank line that nothing indented follows. */
function itemEnd(lines, at, [, spaces]) {
  const deep = (line) => line.search(/\S/) >= spaces.length + 2;
  while (at < lines.length) {
    let next = at;
    while (next < lines.length && isBlank(lines[next])) next++;
    if (next === lines.length) return next;
    const line = lines[next];
    if (!deep(line) && (next > at || interrupts(line))) return bullet.test(line) ? next : at;
    at = next + 1;
  }
  return at;
}

function dedent(line, most) { return line.slice(Math.min(most, Math.max(0, line.search(/\S/)))); }

/** tableAt reads a table: a row of headings above a row of hyphens. */
function tableAt(lines, at) {
  if (at + 1 >= lines.length || !lines[at].includes("|") || !lines[at + 1].includes("-")) return null;
  const head = cellsOf(lines[at]);
  const marks = cellsOf(lines[at + 1]);
  if (head.length !== marks.length || head.length > maxCells || !marks.every((mark) => /^:?-+:?$/.test(mark))) return null;
  let end = at + 2;
  const rows = [];
  for (; end < lines.length && lines[end].includes("|") && !isBlank(lines[end]); end++) {
    const cells = cellsOf(lines[end]).slice(0, head.length);
    rows.push(head.map((_, i) => parseInline(cells[i] ?? "")));
  }
  return [{ kind: "table", head: head.map((cell) => parseInline(cell)), align: marks.map(alignment), rows }, end];
}

function alignment(mark) { return mark.endsWith(":") ? (mark.startsWith(":") ? "center" : "end") : "start"; }

/** cellsOf splits a row at its bars, but for those behind a backslash. */
function cellsOf(line) {
  const cells = line.trim().replace(/^\|/, "").split(/(?<!\\)\|/);
  if (cells.length > 1 && isBlank(cells.at(-1))) cells.pop();
  return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
}
