import { tokenPlaceholder } from "../ui/text/token-rules.ts";

/** Small programs to paste: each sends one `hello` and prints what comes back. */
export interface Snippet {
  readonly id: string;
  readonly label: string;
  /** Where to paste it and what it needs. */
  readonly hint: string;
  readonly code: string;
}

/** For the channel at `url` (`ws://` or `wss://`). The token goes into a subprotocol, the one way open to browsers. */
export function snippets(url: string): readonly Snippet[] {
  const channel = JSON.stringify(url);
  return [
    {
      id: "browser",
      label: "Browser",
      hint: "Paste it into the console of the developer tools (F12), for example on this page.",
      code: javaScript(channel, "WebSocket"),
    },
    {
      id: "node",
      label: "Node",
      hint: "Paste it into a terminal. Node 22 or newer has WebSocket built in; on Node 20 run npm i ws first.",
      code: [
        "node --input-type=module <<'END'",
        `const Socket = globalThis.WebSocket ?? (await import("ws")).WebSocket;`,
        javaScript(channel, "Socket"),
        "END",
      ].join("\n"),
    },
    {
      id: "python",
      label: "Python",
      hint: "Paste it into a terminal. Needs the package websockets (Debian: python3-websockets).",
      code: python(channel),
    },
    {
      id: "curl",
      label: "curl",
      hint: "Paste it into a terminal. It only asks whether the channel is there and takes your token.",
      code: [
        `TOKEN='${tokenPlaceholder}'`,
        `curl -H "Authorization: Bearer $TOKEN" ${shellQuoted(url.replace(/^ws/, "http"))}`,
      ].join("\n"),
    },
    {
      id: "doorward",
      label: "doorward",
      hint: "Paste it into a terminal that has the doorward command. The token goes into a file only you can read.",
      code: [
        `(umask 077; printf %s '${tokenPlaceholder}' > channel-token)`,
        `doorward send --url ${shellQuoted(url).replace("-g ", "")} --token-file channel-token hello`,
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

/** Addresses need no quotes in a shell but for the brackets of IPv6, which curl and zsh would expand. */
function shellQuoted(url: string): string {
  return /^[\w:/.-]+$/.test(url) ? url : `-g '${url.replaceAll("'", "%27")}'`;
}
