// What the script was given, and what it knows of the site.
// <script src="https://chat.example/chat.js" data-site="acme.example" defer></script>; data-language, data-person, data-position and
// data-label, the words on the button, may be there, too.
const script = document.currentScript;
const given = { ...script.dataset };
const address = new URL(`chat/${encodeURIComponent(given.site ?? "")}`, script.src);
if (given.language) address.searchParams.set("language", given.language);

/** primary is the language without its region. */
function primary(language) { return String(language ?? "").toLowerCase().split(/[-_]/)[0]; }

/** wordsIn are the built-in texts for a language. */
function wordsIn(language) { return texts[primary(language)] ?? texts.en; }

/** configured reads how the chat of the site looks. Where that cannot be read, the chat looks as it does everywhere. */
async function configured() {
  const usual = { title: given.site, color: "#3355a8", position: "right", texts: wordsIn(given.language || document.documentElement.lang) };
  const from = new URL(address);
  from.pathname += "/config.json";
  try {
    const response = await fetch(from, { credentials: "omit", signal: AbortSignal.timeout(5000) });
    if (response.status === 404) return null;
    return response.ok ? await response.json() : usual;
  } catch {
    return usual;
  }
}
