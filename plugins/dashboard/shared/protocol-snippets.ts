// Generates snippets for clients of the protocols of other products.
import type { ProtocolView } from "./protocols.ts";
import { placeholderOf, tokenPlaceholder } from "./token-rules.ts";
import type { Snippet } from "./snippets.ts";

type Address = Pick<ProtocolView, "name" | "url" | "model">;

/** Generates one snippet per client. Each program sends `hello` and prints the reply. */
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

function openaiSnippets({ url, model }: Record<"url" | "model", string>): readonly Snippet[] {
  const base = JSON.stringify(url);
  const name = JSON.stringify(model);
  return [
    {
      id: "openai-curl",
      language: "bash",
      label: "curl",
      hint: "Paste it into a terminal.",
      code: `TOKEN='${tokenPlaceholder}'
curl -g '${url.replaceAll("'", "%27")}/chat/completions' \\
  -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"model":${name},"messages":[{"role":"user","content":"hello"}]}'`,
    },
    {
      id: "openai-python",
      language: "python",
      label: "Python",
      hint: "Paste it into a terminal. Needs the openai package: pip install openai.",
      code: `python3 - <<'END'
from openai import OpenAI

client = OpenAI(base_url=${base}, api_key="${tokenPlaceholder}")
messages = [{"role": "user", "content": "hello"}]
for chunk in client.chat.completions.create(model=${name}, stream=True, messages=messages):
    print(chunk.choices[0].delta.content or "", end="", flush=True)
END`,
    },
    {
      id: "openai-node",
      language: "javascript",
      label: "Node",
      hint: "Paste it into a terminal. Needs the openai package: npm install openai.",
      code: `node --input-type=module <<'END'
import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${base}, apiKey: "${tokenPlaceholder}" });
const messages = [{ role: "user", content: "hello" }];
const reply = await client.chat.completions.create({ model: ${name}, stream: true, messages });
for await (const chunk of reply) process.stdout.write(chunk.choices[0]?.delta.content ?? "");
END`,
    },
    {
      id: "openai-webui",
      language: "text",
      label: "Open WebUI",
      hint: "Admin settings, Connections, OpenAI API: add a connection with these values.",
      code: `URL:     ${url}
Key:     ${tokenPlaceholder}
Headers: {"X-Doorward-Session": "{{CHAT_ID}}", "X-Doorward-Task": "{{TASK}}"}`,
    },
    {
      id: "openai-librechat",
      language: "yaml",
      label: "LibreChat",
      hint: "Add it to librechat.yaml.",
      code: `endpoints:
  custom:
    - name: "Doorward"
      baseURL: ${base}
      apiKey: "${tokenPlaceholder}"
      models: { default: [${name}] }
      headers: { "X-Conversation-Id": "{{LIBRECHAT_BODY_CONVERSATIONID}}" }`,
    },
  ];
}
