// The page that talks to a site's chatbot. What comes from the chatbot is shown as nodes made of its text, never as HTML.
import { Conversation } from "./page/conversation.js";
import { Parent } from "./page/parent.js";

const parent = new Parent();
new Conversation(parent);
parent.listen(document.getElementById("close"));

// A visitor without a connection is told so before a message fails.
const notice = document.getElementById("notice");
notice.hidden = navigator.onLine;
for (const change of ["online", "offline"]) window.addEventListener(change, () => { notice.hidden = navigator.onLine; });
