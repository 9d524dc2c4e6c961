// What the page remembers of a conversation while its tab is open, where the browser allows it.

const most = 100;

/** newSession makes an id of 128 bits at random. It looks like one, too: the server refuses ids of a few characters only. */
export function newSession() {
  for (;;) {
    const bytes = crypto.getRandomValues(new Uint8Array(16)); // randomUUID is for secure pages only
    const id = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    if (new Set(id).size >= 10) return id;
  }
}

/** Memory has the session, what was said in it as {who, text, …}, and how many answers there were. */
export class Memory {
  constructor(site) {
    this.key = `rehearse-chat:${site}`;
    this.renew();
    try {
      const { session, said, turns } = JSON.parse(sessionStorage.getItem(this.key)) ?? {};
      if (/^[\w-]{22,}$/.test(session) && Array.isArray(said)) Object.assign(this, { session, said: said.filter(isEntry), turns: Number(turns) || 0 });
    } catch { /* nothing is kept */ }
    this.save();
  }

  renew() {
    this.session = newSession();
    this.said = [];
    this.turns = 0;
  }

  /** add takes an entry, before another one or at the end. It is kept once it has a text. */
  add(entry, before) {
    const at = before ? this.said.indexOf(before) : -1;
    this.said.splice(at < 0 ? this.said.length : at, 0, entry);
    this.save();
    return entry;
  }

  save() {
    try {
      const said = this.said.filter((entry) => entry.text).slice(-most);
      sessionStorage.setItem(this.key, JSON.stringify({ session: this.session, said, turns: this.turns }));
    } catch { /* full, or forbidden: the page works without */ }
  }
}

function isEntry(entry) { return typeof entry?.who === "string" && typeof entry.text === "string"; }
