// Generates snippets for clients of the protocols of other products.
import type { ProtocolView } from "./protocols.ts";
import { placeholderOf, tokenPlaceholder } from "./token-rules.ts";
import { openaiSnippets } from "./openai-snippets.ts";
import type { Snippet } from "./snippets.ts";

type Address = Pick<ProtocolView, "name" | "url" | "model">;

/** Generates one snippet per client. */
export function protocolSnippets({ name, url, model = "doorward" }: Address): readonly Snippet[] {
  const own = name === "ai_sdk" ? [aiSdkSnippet(url)] : [agUiSnippet(url)];
  const snippets = name === "openai" ? openaiSnippets({ url, model }) : own;
  // Each protocol has a token of its own.
  const toOwn = (code: string): string => code.replaceAll(tokenPlaceholder, placeholderOf(name));
  return snippets.map((snippet) => ({ ...snippet, code: toOwn(snippet.code) }));
}

const aiSdkSnippet = (url: string): Snippet => ({
  id: "ai_sdk-node",
  label: "Node",
  language: "sh",
  hint: "Paste it into a terminal. Needs two packages: npm install ai @ai-sdk/react react.",
  code: `node --input-type=module <<'END'
import { Chat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";

const transport = new DefaultChatTransport({
  api: ${JSON.stringify(`${url}/chat`)},
  headers: { Authorization: "Bearer ${tokenPlaceholder}" },
});
const chat = new Chat({ id: "demo", transport });
await chat.sendMessage({ text: "hello" });
console.log(chat.error ?? chat.messages.at(-1).parts.map(({ text }) => text ?? "").join(""));
END`,
});

const agUiSnippet = (url: string): Snippet => ({
  id: "ag_ui-node",
  label: "Node",
  language: "sh",
  hint: "Paste it into a terminal. Needs one package: npm install @ag-ui/client.",
  code: `node --input-type=module <<'END'
import { HttpAgent } from "@ag-ui/client";

const headers = { Authorization: "Bearer ${tokenPlaceholder}" };
const agent = new HttpAgent({ url: ${JSON.stringify(url)}, threadId: "demo", headers });
agent.addMessage({ id: crypto.randomUUID(), role: "user", content: "hello" });
await agent.runAgent();
console.log(agent.messages.at(-1).content);
END`,
});
