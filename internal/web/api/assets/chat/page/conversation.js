// The conversation as one sees it: each message asks for an answer, which is shown while it comes.
import { ask, Refusal } from "./stream.js";
import { Bubble } from "./bubble.js";
import { Composer } from "./composer.js";
import { Memory } from "./memory.js";
import { Offers } from "./offers.js";
import { Thumbs } from "./thumbs.js";
import { button, element } from "./dom.js";
import { shown } from "./markers.js";
import { asked as language, site, texts } from "./config.js";

/** Turn is one message and what becomes of its answer. A newer one may begin before its suggestions are there. */
class Turn extends AbortController {
  constructor(text, asked, entry, bubble) {
    super();
    Object.assign(this, { text, asked, entry, bubble, said: "", answered: false });
  }
}

/** Conversation holds the page together. */
export class Conversation {
  constructor(parent) {
    Object.assign(this, { parent, turns: new Set(), last: null, memory: new Memory(site), thumbs: [] });
    for (const id of ["scroller", "log", "renew", "status"]) this[id] = document.getElementById(id);
    this.composer = new Composer((text) => this.say(text), () => this.last?.abort());
    this.offers = new Offers((text) => { if (!this.composer.busy) { this.composer.focus(); this.say(text); } });
    this.renew.addEventListener("click", () => this.startAgain());
    for (const entry of this.memory.said) this.recall(entry);
    if (this.memory.said.length > 0) this.begun();
    this.toEnd();
    this.composer.focus();
  }

  /** recall shows what was said before the page was loaded anew. */
  recall(entry) {
    if (entry.who === "note") { this.log.append(divider()); return; }
    const bubble = this.bubble(entry.who === "user" ? "user" : "bot");
    bubble.finish(entry.text);
    if (entry.who !== "user") this.below(bubble, entry);
  }

  begun() {
    this.renew.hidden = false;
    this.offers.show([]);
  }

  startAgain() {
    for (const turn of this.turns) turn.abort();
    this.turns.clear();
    this.last = null;
    this.memory.renew();
    this.memory.save();
    this.log.replaceChildren();
    this.thumbs = [];
    this.renew.hidden = true;
    this.offers.show(this.offers.starters);
    this.composer.answering(false);
    this.status.textContent = texts.new_conversation;
    this.composer.input.focus();
  }

  say(text) {
    this.begun();
    this.bubble("user").show(text);
    this.parent.tell("message", { text });
    const asked = this.memory.add({ who: "user", text });
    return this.answer(text, asked);
  }

  /** answer asks for an answer and shows it while it comes. */
  async answer(text, asked) {
    const turn = this.last = new Turn(text, asked, this.memory.add({ who: "bot", text: "" }), this.bubble("bot"));
    this.turns.add(turn);
    this.offers.show([]);
    for (const again of this.log.querySelectorAll(".note button")) again.remove(); // only the last message can be sent again
    this.composer.answering(true);
    this.status.textContent = texts.writing;
    turn.bubble.wait();
    this.toEnd();
    try {
      for await (const event of ask(this.message(text), turn.signal)) {
        if (!this.turns.has(turn)) return;
        this.take(turn, event);
      }
    } catch (reason) {
      if (this.turns.has(turn)) this.fail(turn, reason);
    }
    this.turns.delete(turn);
    this.free(turn);
  }

  message(text) {
    const { memory, parent } = this;
    return { site_name: site, session_id: memory.session, input: text, turn_number: memory.turns, ...(language && { language }), ...parent.visitor() };
  }

  take(turn, event) {
    switch (event.type) {
      case "token": turn.bubble.draw(turn.said += event.content, (change) => this.follow(change)); break;
      case "answered": this.answered(turn); break;
      case "complete": this.answered(turn); this.complete(turn, event.metadata ?? {});
    }
  }

  /** answered shows the whole answer and lets the visitor go on; what is below it may still come. */
  answered(turn) {
    if (turn.answered) return;
    turn.answered = true;
    this.follow(() => turn.bubble.finish(turn.said));
    this.status.textContent = `${texts.assistant}: ${turn.bubble.text.innerText}`;
    this.free(turn);
  }

  /** free lets the visitor send, if it is the last message that was answered. */
  free(turn) { if (this.last === turn) this.composer.answering(false); }

  complete(turn, metadata) {
    const { entry, said, bubble } = turn;
    const { turn_number: number = 0, blocked, cta, restarted } = metadata;
    if (restarted) this.restarted(turn);
    this.memory.turns = number + (blocked ? 0 : 1);
    Object.assign(entry, { text: said, ...(cta && { cta }), ...(!blocked && { turn: number + 1 }) });
    this.memory.save();
    this.parent.tell("answer", { text: shown(said), turn: entry.turn ?? null, blocked: blocked || null });
    if (cta) this.parent.tell("cta", { ...cta, clicked: false });
    this.follow(() => {
      this.below(bubble, entry);
      if (blocked === "hack") bubble.note("", this.renewal());
      if (this.last === turn) this.offers.show([...(metadata.suggested_answers ?? []), ...(metadata.suggested_follow_ups ?? [])]);
    });
  }

  /** below puts under an answer what belongs to it. */
  below(bubble, entry) {
    if (entry.cta) bubble.call(entry.cta, () => this.parent.tell("cta", { ...entry.cta, clicked: true }));
    if (entry.turn) this.thumbs.push(new Thumbs(entry, this.memory, bubble.row));
  }

  /** restarted says that the server has lost what stands above the message. Answers there are no turns of the new session. */
  restarted(turn) {
    for (const old of this.thumbs) old.remove();
    for (const entry of this.memory.said) delete entry.turn;
    this.thumbs = [];
    this.memory.add({ who: "note", text: "session_lost" }, turn.asked);
    this.follow(() => turn.bubble.row.previousElementSibling.before(divider()));
    this.status.textContent = `${texts.session_lost} ${this.status.textContent}`;
  }

  fail(turn, reason) {
    const stopped = turn.signal.aborted;
    const refused = reason instanceof Refusal;
    const message = stopped ? texts.stopped : refused ? reason.detail || texts[reason.message] : texts.offline;
    this.memory.said.splice(this.memory.said.indexOf(turn.entry), 1);
    this.status.textContent = message;
    if (!stopped) this.parent.tell("error", { code: refused ? reason.code : "offline", message });
    const again = this.last !== turn ? [] : [reason.code === "session_full" ? this.renewal() : this.again(turn)];
    this.follow(() => {
      turn.bubble.finish(turn.said);
      turn.bubble.note(message, ...again);
      turn.bubble.row.classList.toggle("failed", !stopped);
    });
  }

  again({ bubble, text, asked }) {
    return button(texts.try_again, () => {
      bubble.row.remove();
      this.composer.focus();
      this.answer(text, asked);
    });
  }

  renewal() { return button(texts.new_conversation, () => this.startAgain()); }

  bubble(who) {
    const made = new Bubble(who);
    this.log.append(made.row);
    return made;
  }

  /** follow changes the page and keeps its end in sight, unless the visitor reads further up. */
  follow(change) {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    change();
    if (scrollHeight - scrollTop - clientHeight < 80) this.toEnd();
  }

  toEnd() { this.scroller.scrollTop = this.scroller.scrollHeight; }
}

function divider() { return element("li", "lost", texts.session_lost); }
