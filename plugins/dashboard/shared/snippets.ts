// Generates client snippets. Each sends one `hello` and prints the replies.
import { tokenPlaceholder } from "./token-rules.ts";

export interface Snippet {
  readonly id: string;
  readonly label: string;
  /** Where to paste the snippet and what it requires. */
  readonly hint: string;
  /** Language for the highlighter. */
  readonly language: string;
  readonly code: string;
}

/**
 * Generates snippets for the channel at `url` (`ws://` or `wss://`).
 * WebSocket snippets send the token as a subprotocol, since browsers cannot set headers.
 */
export function snippets(url: string): readonly Snippet[] {
  const channel = JSON.stringify(url);
  return [
    {
      id: "browser",
      language: "javascript",
      label: "Browser",
      hint: "Paste it into the console of the developer tools (F12), for example of this page.",
      code: javaScript(channel, "WebSocket"),
    },
    {
      id: "node",
      language: "javascript",
      label: "Node",
      hint: "Paste it into a terminal. Needs Node 22 or later. On Node 20, run npm i ws first.",
      code: [
        "node --input-type=module <<'END'",
        `const Socket = globalThis.WebSocket ?? (await import("ws")).WebSocket;`,
        javaScript(channel, "Socket"),
        "END",
      ].join("\n"),
    },
    {
      id: "python",
      language: "python",
      label: "Python",
      hint: "Paste it into a terminal. Needs the websockets package (Debian: python3-websockets).",
      code: python(channel),
    },
    {
      id: "curl",
      language: "bash",
      label: "curl",
      hint: "Paste it into a terminal. Checks the URL and the token, but sends no message.",
      code: [
        `TOKEN='${tokenPlaceholder}'`,
        `curl -H "Authorization: Bearer $TOKEN" ${quoteForShell(url.replace(/^ws/, "http"))}`,
      ].join("\n"),
    },
    {
      id: "doorward",
      language: "bash",
      label: "doorward",
      hint:
        "Paste it into a terminal. Needs the doorward command. " +
        "Writes the token to a file that only you can read.",
      code: [
        `(umask 077; printf %s '${tokenPlaceholder}' > channel-token)`,
        `doorward send --url ${quoteForShell(url).replace("-g ", "")} ` +
          "--token-file channel-token hello",
      ].join("\n"),
    },
  ];
}

function javaScript(channel: string, socket: string): string {
  return `const token = "${tokenPlaceholder}";
const url = ${channel};
const hello = { type: "message.send", payload: { content: "hello" } };
const pico = new ${socket}(url, ["token." + token]);
pico.onopen = () => pico.send(JSON.stringify(hello));
pico.onmessage = (event) => console.log(event.data);
pico.onclose = (event) => console.log("closed", event.code, event.reason);`;
}

function python(channel: string): string {
  return `python3 - <<'END'
import asyncio, json, websockets

token = "${tokenPlaceholder}"
url = ${channel}
hello = {"type": "message.send", "payload": {"content": "hello"}}

async def main():
    async with websockets.connect(url, subprotocols=["token." + token]) as pico:
        await pico.send(json.dumps(hello))
        async for message in pico:
            print(message, flush=True)

asyncio.run(main())
END`;
}

/** Quotes a URL only if needed: curl and zsh expand the brackets of IPv6 addresses. */
function quoteForShell(url: string): string {
  return /^[\w:/.-]+$/.test(url) ? url : `-g '${url.replaceAll("'", "%27")}'`;
}
