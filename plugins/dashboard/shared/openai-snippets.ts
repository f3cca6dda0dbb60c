// Generates snippets for clients of the OpenAI protocol.
import { tokenPlaceholder } from "./token-rules.ts";
import type { Snippet } from "./snippets.ts";

interface OpenaiAddress {
  /** Base URL, ending in `/v1`. */
  readonly url: string;
  readonly model: string;
}

/** Generates one snippet per client. Each program sends `hello` and prints the reply. */
export function openaiSnippets({ url, model }: OpenaiAddress): readonly Snippet[] {
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
