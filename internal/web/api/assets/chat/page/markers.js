// The signals in answers, which are for the page and not for the visitor.

const markers = ["👉", "👇", "💌"];

/** strip removes the markers for display, each with its skin tone or variation selector and one space. */
export function strip(text) {
  for (const marker of markers) {
    text = text.replace(new RegExp(`${marker}[\\u{1F3FB}-\\u{1F3FF}\\uFE0F]? ?`, "gu"), "");
  }
  return text;
}

/** shown is what can be shown of an answer so far; the first half of a character waits for the second. */
export function shown(answer) {
  return strip(answer.replace(/[\uD800-\uDBFF]$/, ""));
}
