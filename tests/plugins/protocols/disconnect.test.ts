// Tests whether a client that closes its connection stops the reply, in all protocols.
import { afterEach, describe, expect, test } from "vitest";
import type { Message } from "../../../plugins/channels/index.ts";
import { startProtocols, tokens, type ProtocolService } from "../../support/protocol-service.ts";

const started: ProtocolService[] = [];
afterEach(() => Promise.all(started.splice(0).map((service) => service[Symbol.asyncDispose]())));

const user = { id: "m1", role: "user" };
const protocols = {
  openai: {
    path: "/v1/chat/completions",
    body: { model: "m", stream: true, messages: [{ role: "user", content: "hi" }] },
  },
  ai_sdk: {
    path: "/ai/chat",
    body: { id: "c", messages: [{ ...user, parts: [{ type: "text", text: "hi" }] }] },
  },
  ag_ui: {
    path: "/ag-ui",
    body: { threadId: "c", runId: "r", messages: [{ ...user, content: "hi" }] },
  },
} as const;
type Name = keyof typeof protocols;

const post = (
  { origin }: ProtocolService,
  name: Name,
  { disconnect, signal }: { disconnect?: string; signal?: AbortSignal } = {},
): Promise<Response> =>
  fetch(origin + protocols[name].path, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${tokens[name]}`,
      "Content-Type": "application/json",
      ...(disconnect !== undefined && { "X-Doorward-Disconnect": disconnect }),
    },
    body: JSON.stringify(protocols[name].body),
    ...(signal && { signal }),
  });

/** Closes the connection of a client during the reply, and returns what becomes of the reply. */
async function leave(name: Name, config: object, disconnect?: string): Promise<string> {
  const service = await startProtocols({ config });
  started.push(service);
  const closed = new Promise<void>((resolve) => {
    service.kernel.on("channels:stop-asked", () => resolve());
  });
  let goOn = (): void => undefined;
  const left = new Promise<void>((resolve) => void (goOn = resolve));
  const ended = new Promise<string>((resolve) => {
    service.state.handler = async (message: Message) => {
      await message.reply({ content: "begun" });
      const { signal } = message;
      const aborted = new Promise<string>((done) => {
        signal.addEventListener("abort", () => done("stopped"));
      });
      resolve(await Promise.race([aborted, left.then(() => "kept")]));
    };
  });
  const abort = new AbortController();
  const reply = await post(service, name, {
    signal: abort.signal,
    ...(disconnect !== undefined && { disconnect }),
  });
  const reader = reply.body!.getReader();
  await reader.read();
  abort.abort();
  await reader.read().catch(() => undefined);
  // A stop is asked for when the server sees the end of the connection. Another request follows it.
  const asked = Promise.race([closed, connectionEnds(service)]);
  await asked;
  goOn();
  return ended;
}

/** Resolves some requests later, when the server has seen the connection close. */
async function connectionEnds({ origin }: ProtocolService): Promise<void> {
  for (let request = 0; request < 20; request += 1) await (await fetch(`${origin}/healthz`)).text();
}

const stop = { disconnect: "stop" };
const keep = { disconnect: "keep" };

describe.each(["openai", "ai_sdk", "ag_ui"] as const)("closed connection of %s", (name) => {
  const standard = name === "openai" ? "stopped" : "kept";

  test.each([
    ["the default", {}, undefined, standard],
    ["the setting stop", stop, undefined, "stopped"],
    ["the setting keep", keep, undefined, "kept"],
    ["the header stop", keep, "stop", "stopped"],
    ["the header keep", stop, "keep", "kept"],
  ])("follows %s", async (_, config, header, expected) => {
    expect(await leave(name, config, header)).toBe(expected);
  });

  test("rejects another value of the header", async () => {
    const service = await startProtocols();
    started.push(service);
    const reply = await post(service, name, { disconnect: "maybe" });
    expect([reply.status, await reply.text()]).toEqual([
      400,
      expect.stringContaining("X-Doorward-Disconnect must be stop or keep."),
    ]);
    expect(service.received).toEqual([]);
  });
});
