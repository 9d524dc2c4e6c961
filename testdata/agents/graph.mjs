// The graph of langgraph.mjs: it counts the user's messages of a thread, and says the first one's last word.
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { interrupt, MessagesAnnotation, StateGraph } from "@langchain/langgraph";

function answer({ messages }) {
  const users = messages.filter((message) => message.getType() === "human").map((message) => message.content);
  const text = users.at(-1);
  if (text === "throw") throw new Error("the graph has no credit");
  if (text === "silence") return { messages: [] };
  if (text === "interrupt") interrupt("Which one?");
  const reply = `${users.length} ${users[0].split(" ").at(-1)}: ${text}`;
  if (!text.startsWith("order ")) return { messages: [new AIMessage({ content: [{ type: "text", text: reply }] })] };
  const call = { id: `call-${users.length}`, name: "get_order", args: { id: text.slice("order ".length) } };
  return {
    messages: [
      new AIMessage({ content: "", tool_calls: [call] }),
      new ToolMessage({ content: "shipped", name: call.name, tool_call_id: call.id }),
      new AIMessage(reply),
    ],
  };
}

export const graph = new StateGraph(MessagesAnnotation).addNode("answer", answer).addEdge("__start__", "answer").addEdge("answer", "__end__").compile();
