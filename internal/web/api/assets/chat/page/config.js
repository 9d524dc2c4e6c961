// What the server has written into the page for this script: how the chat looks, and its texts in the visitor's language.

export const { site, texts } = JSON.parse(document.getElementById("config").textContent);

/** asked is the language that the visitor has asked for; without one, answers are in the site's. */
export const asked = new URLSearchParams(location.search).get("language") ?? "";
