// The graph of graph.go on LangGraph.js, node for node. The bench starts it and reads the one line of JSON that it prints.
//
//   node langgraph.mjs hold SESSIONS TURNS DURABILITY   the sessions side by side, in rounds: what a turn takes
//   node langgraph.mjs grow TURNS DURABILITY            one session: what each turn leaves in the MemorySaver
//   node langgraph.mjs joins                            how often finalize runs, by the way it is joined
import { Annotation, END, MemorySaver, START, StateGraph } from "@langchain/langgraph";

const overlay = (old, written) => ({ ...old, ...written });
const mergeDialog = (old, written) => ({
  proposed_ever: old.proposed_ever || written.proposed_ever,
  proposed_last_turn: written.proposed_last_turn,
  ask_count: Math.max(old.ask_count, written.ask_count),
});

// A message takes the place of the one with the same id. Plain objects and not LangChain's message classes, which take more to
// serialise: in favour of LangGraph.
function addMessages(old, written) {
  const list = [...old];
  for (const message of written) {
    const at = list.findIndex((m) => m.id === message.id);
    if (at < 0) list.push(message);
    else list[at] = message;
  }
  return list;
}

const last = (value) => Annotation({ reducer: (_, written) => written, default: () => value });
const merged = (reducer, value) => Annotation({ reducer, default: () => value });

const State = Annotation.Root({
  messages: merged(addMessages, []),
  input: Annotation(),
  response: Annotation(),
  retrieved_docs: Annotation(),
  site_name: Annotation(),
  session_id: Annotation(),
  next_route: Annotation(),
  turn_number: last(0),
  visitor_profile: merged(overlay, {}),
  dialog_state: merged(mergeDialog, { proposed_ever: false, proposed_last_turn: false, ask_count: 0 }),
  interest: last({ cumulative: 0, seen: null }),
  form: merged(overlay, {}),
  intents: last({ intent: "", confidence: 0, before: "" }),
  router: Annotation(),
  skills: Annotation(),
  profiling: merged(overlay, {}),
  last_input: Annotation(),
  follow_ups: Annotation(),
  answers: Annotation(),
});

// A key that the input does not name keeps its value of the turn before, so the fields of one turn are emptied here.
const turnInput = (thread, text) => ({
  ...{ input: text, site_name: "shop", session_id: thread },
  ...{ response: "", retrieved_docs: "", next_route: "", router: null, skills: null, follow_ups: null, answers: null },
});

// A promise cannot be stored, so what runs in the background is kept beside the state, by thread.
const tasks = new Map();
const start = (kind, find) => async (s) => {
  tasks.set(s.session_id + kind, Promise.resolve(s.input).then(find));
  return {};
};
const take = async (s, kind) => {
  const found = await tasks.get(s.session_id + kind);
  tasks.delete(s.session_id + kind);
  return found;
};

const words = "You can try every tea for thirty days and send back what you do not like. ".repeat(4);
const answer = async (s) => ({ response: `Answer to ${s.input} ${words}` });

const bodies = {
  retrieval_task_starter: start("retrieval", (text) => `What is known of ${text}`),
  enricher_task_starter: start("enricher", () => ({ company: "Acme" })),
  visitor_profile_task_starter: start("profile", () => ({ need: "demo" })),
  system_router: async () => ({ next_route: "AGENTIC" }),
  agentic_system_entry: async () => ({}),
  intent_classifier: async (s) => ({ intents: { intent: "LEARN", confidence: 0.9, before: s.intents.intent } }),
  interest_signals_detector: async (s) => ({ interest: { cumulative: Math.min(s.interest.cumulative + 1, 100), seen: ["pricing"] } }),
  skill_selector: async () => ({ skills: { skills: ["suggest_follow_up"], applied: null, reasons: { suggest_follow_up: "open" } } }),
  early_profile_extractor: async (s) => ({ profiling: { plan: s.input } }),
  intent_router: async () => ({ next_route: "ANSWER", router: { action: "EDUCATE", route: "ANSWER", reason: "first match" } }),
  enricher_awaiter: async (s) => ({ visitor_profile: await take(s, "enricher") }),
  visitor_profile_awaiter: async (s) => ({ visitor_profile: await take(s, "profile") }),
  skill_applier: async (s) => ({ skills: { ...s.skills, applied: s.skills.skills } }),
  retrieval_awaiter: async (s) => ({ retrieved_docs: await take(s, "retrieval") }),
  answer_writer: answer,
  redirect_handler: answer,
  booking_handler: answer,
  post_conversion_handler: answer,
  dialog_state_extractor: async () => ({ dialog_state: { proposed_ever: true, proposed_last_turn: false, ask_count: 1 } }),
  form_field_extractor: async (s) => ({ form: { topic: s.input } }),
  suggestion_router: async () => ({}),
  answer_suggester: async () => ({ answers: ["Yes", "No"] }),
  follow_up_suggester: async () => ({ follow_ups: ["What does it cost?"] }),
  finalize: async (s) => ({
    messages: [
      { id: `${s.turn_number}:u`, role: "user", content: s.input },
      { id: `${s.turn_number}:a`, role: "assistant", content: s.response },
    ],
    turn_number: s.turn_number + 1,
    last_input: s.input,
  }),
};

// compile draws the graph. The join is how the branches meet in finalize: "defer" is right, "edges" and "barrier" are what one tries first.
function compile(saver, { join = "defer", seen } = {}) {
  const g = new StateGraph(State);
  for (const [name, body] of Object.entries(bodies)) {
    const watched = seen ? (s, config) => { seen(name, config.metadata.langgraph_step); return body(s); } : body;
    g.addNode(name, watched, name === "finalize" && join === "defer" ? { defer: true } : {});
  }
  for (const name of ["retrieval_task_starter", "enricher_task_starter", "visitor_profile_task_starter", "system_router"]) g.addEdge(START, name);
  const branch = (from, choose, ...to) => g.addConditionalEdges(from, choose, to);
  branch("system_router", (s) => (s.next_route === "POST_CONVERSION" ? "post_conversion_handler" : "agentic_system_entry"),
    "post_conversion_handler", "agentic_system_entry");
  for (const name of ["intent_classifier", "interest_signals_detector", "skill_selector", "early_profile_extractor"]) {
    g.addEdge("agentic_system_entry", name);
    g.addEdge(name, "intent_router"); // all four are in one superstep, so single edges join them
  }
  branch("intent_router", (s) => ({ REDIRECT: "redirect_handler", BOOKING: "booking_handler" })[s.next_route] ?? "enricher_awaiter",
    "redirect_handler", "booking_handler", "enricher_awaiter");
  const path = ["enricher_awaiter", "visitor_profile_awaiter", "skill_applier", "retrieval_awaiter", "answer_writer"];
  path.slice(1).forEach((name, i) => g.addEdge(path[i], name));
  for (const name of ["dialog_state_extractor", "form_field_extractor", "suggestion_router"]) g.addEdge("answer_writer", name);
  branch("suggestion_router", (s) => (s.response.endsWith("?") ? "answer_suggester" : "follow_up_suggester"),
    "answer_suggester", "follow_up_suggester", "finalize");
  const into = ["dialog_state_extractor", "form_field_extractor", "answer_suggester", "follow_up_suggester"];
  if (join === "barrier") g.addEdge(into, "finalize"); // waits for all of them, and one suggester is always skipped
  else for (const name of into) g.addEdge(name, "finalize");
  for (const name of ["redirect_handler", "booking_handler", "post_conversion_handler"]) g.addEdge(name, "finalize");
  g.addEdge("finalize", END);
  return g.compile({ checkpointer: saver });
}

const takeTurn = (graph, thread, turn, durability) =>
  graph.invoke(turnInput(thread, `question ${turn % 10} about tea`), { configurable: { thread_id: thread }, durability });

// round takes one turn of every session, eight at a time.
async function round(graph, sessions, turn, durability, prefix) {
  let next = 0;
  await Promise.all(Array.from({ length: 8 }, async () => {
    while (next < sessions) await takeTurn(graph, prefix + next++, turn, durability);
  }));
}

async function hold(sessions, turns, durability) {
  const warm = compile(new MemorySaver()); // goes away again
  for (let turn = 0; turn < 10; turn++) await round(warm, 10, turn, durability, "w");
  const graph = compile(new MemorySaver());
  const began = performance.now();
  const before = process.cpuUsage();
  for (let turn = 0; turn < turns; turn++) await round(graph, sessions, turn, durability, "s");
  const { user, system } = process.cpuUsage(before);
  const wall = performance.now() - began;
  const state = await graph.getState({ configurable: { thread_id: "s0" } });
  return { turns: sessions * turns, cpu_us: user + system, wall_us: wall * 1000, state: state.values };
}

// stored returns what a saver with one thread holds.
function stored(saver) {
  let checkpoints = 0, states = 0, writes = 0;
  for (const thread of Object.values(saver.storage)) {
    for (const [checkpoint, metadata] of Object.values(thread[""])) {
      checkpoints++;
      states += checkpoint.byteLength + metadata.byteLength;
    }
  }
  for (const one of Object.values(saver.writes)) for (const [, , value] of Object.values(one)) writes += value.byteLength;
  return { checkpoints, bytes: states + writes };
}

async function grow(turns, durability) {
  const saver = new MemorySaver();
  let steps = new Set(), nodes = [];
  const graph = compile(saver, { seen: (name, step) => { steps.add(step); nodes.push(name); } });
  const added = [];
  for (let turn = 0, before = stored(saver); turn < turns; turn++) {
    steps = new Set();
    nodes = [];
    await takeTurn(graph, "g0", turn, durability);
    const now = stored(saver);
    added.push({
      bytes: now.bytes - before.bytes, checkpoints: now.checkpoints - before.checkpoints, steps: steps.size, nodes: nodes.length,
      finalize: nodes.filter((n) => n === "finalize").length,
    });
    before = now;
  }
  return { added };
}

async function joins() {
  const counts = {};
  for (const join of ["edges", "barrier", "defer"]) {
    counts[join] = 0;
    const graph = compile(new MemorySaver(), { join, seen: (name) => { if (name === "finalize") counts[join]++; } });
    await takeTurn(graph, "j", 0, "async");
  }
  return { joins: counts };
}

const [mode, ...args] = process.argv.slice(2);
const report = {
  hold: () => hold(Number(args[0]), Number(args[1]), args[2]),
  grow: () => grow(Number(args[0]), args[1]),
  joins,
}[mode];
console.log(JSON.stringify(await report()));
