// Runs the client snippets against a channel.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { delimiter, dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { snippets } from "../../plugins/dashboard/shared/snippets.ts";
import { tokenPlaceholder } from "../../plugins/dashboard/shared/token-rules.ts";
import { findTool } from "../support/tools.ts";
import { launchBrowser, skipWithoutBrowser } from "./browser.ts";

const token = "c0ffee".repeat(10);
let server: Server;
let url: string;

/** Starts a channel that echoes messages and accepts the token in a subprotocol or a header. */
beforeAll(async () => {
  server = createServer((request, response) => {
    response.statusCode = request.headers.authorization === `Bearer ${token}` ? 200 : 401;
    response.end(`{"protocol":"pico"}`);
  });
  const verifyClient = ({ req }: { req: IncomingMessage }): boolean =>
    req.headers["sec-websocket-protocol"] === `token.${token}`;
  const sockets = new WebSocketServer({ server, path: "/pico", verifyClient });
  sockets.on("connection", (socket) => {
    socket.on("message", (data: Buffer) => {
      const { type, payload } = JSON.parse(data.toString()) as {
        type: string;
        payload: { content: string };
      };
      const answer = { type: "message.create", payload: { content: `echo: ${payload.content}` } };
      if (type === "message.send") socket.send(JSON.stringify(answer));
      socket.close(1000, "done");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/pico`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function pasted(id: string): string {
  const code = snippets(url).find((snippet) => snippet.id === id)?.code ?? "";
  expect(code.split(tokenPlaceholder)).toHaveLength(2);
  return code.replace(tokenPlaceholder, token);
}

/** Runs the text in a shell and returns its output. */
async function inShell(text: string): Promise<string> {
  const shell = spawn("sh", [], { stdio: ["pipe", "pipe", "pipe"], env });
  let printed = "";
  shell.stdout.on("data", (chunk) => (printed += chunk));
  shell.stderr.on("data", (chunk) => (printed += chunk));
  shell.stdin.end(text + "\n");
  await once(shell, "close");
  return printed;
}

const python = findTool("python-websockets");
const curl = findTool("curl");
/** Puts the Python that has the websockets library first in `PATH`. */
const env = {
  ...process.env,
  PATH: [...(python ? [dirname(python)] : []), process.env["PATH"]].join(delimiter),
};

describe("Client snippet", () => {
  test("connects and prints the reply in a browser", async (context) => {
    skipWithoutBrowser(context);
    const browser = await launchBrowser();
    const page = await browser.newPage();
    const printed: string[] = [];
    page.on("console", (message) => printed.push(message.text()));
    await page.evaluate(pasted("browser"));
    await expect
      .poll(() => printed)
      .toEqual([expect.stringContaining("echo: hello"), "closed 1000 done"]);
    await browser.close();
  });

  test("connects and prints the reply in Node", async () => {
    const printed = await inShell(pasted("node"));
    expect(printed).toContain("echo: hello");
    expect(printed).toContain("closed 1000 done");
  });

  test.skipIf(!python)("connects and prints the reply in Python", async () => {
    expect(await inShell(pasted("python"))).toContain("echo: hello");
  });

  test.skipIf(!curl)("checks the token with curl", async () => {
    expect(await inShell(pasted("curl"))).toContain('{"protocol":"pico"}');
  });
});

test("quotes an IPv6 address for the shell", () => {
  const curl = snippets("wss://[::1]:8443/pico").find(({ id }) => id === "curl");
  expect(curl?.code).toContain("-g 'https://[::1]:8443/pico'");
});
