// Makes elements. Texts become text nodes, and nothing else.

/** element makes an element of a class with content: nodes and texts. */
export function element(tag, className = "", ...content) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...content);
  return made;
}

/** button makes a button that does something. */
export function button(label, onclick) {
  const made = element("button", "", label);
  made.type = "button";
  made.addEventListener("click", onclick);
  return made;
}

/** icon draws a path for the eye only. */
export function icon(path) {
  const [svg, line] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  line.setAttribute("d", path);
  svg.append(line);
  return svg;
}

/** outward makes a link that opens beside the chat. */
export function outward(href, className, ...content) {
  return Object.assign(element("a", className, ...content), { href, target: "_blank", rel: "noopener noreferrer nofollow" });
}
