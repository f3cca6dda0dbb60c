import { describe, expect, test } from "vitest";
import { connect, type Client } from "../../../lib/pico-link/client.ts";
import type { AnyPlugin } from "../../../kernel/index.ts";
import { conversations } from "../../../plugins/conversations/index.ts";
import { startPicoServer, token, type PicoTestServer } from "../../support/pico-server-harness.ts";
import { createHistory, storeIn } from "../../support/sqlite-conversations.ts";
import { address, entry } from "../../support/sqlite-store.ts";

/** A server whose store has two turns in the session `s`. */
async function withHistory(): Promise<PicoTestServer> {
  const folder = await createHistory(entry("user", "q", "one"), entry("create", "a", "two"));
  return startPicoServer({
    first: conversations({ store: storeIn(folder) }) as unknown as AnyPlugin,
  });
}

function open(url: string, options: Partial<Parameters<typeof connect>[0]> = {}): Client {
  return connect({ url, token, sessionId: address.session, ...options });
}

describe("history of a client", () => {
  test.each(["/pico", "/pico/", "/pico/ws"])("reads turns of its session at %s", async (path) => {
    await using server = await withHistory();
    const chat = open(`ws://127.0.0.1:${server.port}${path}`);
    const page = await chat.history({ limit: 1 });
    expect(page.items).toMatchObject([
      { id: "a", role: "assistant", kind: "text", content: "two", toolCalls: [] },
    ]);
    const { items, ...rest } = await chat.history({ before: page.before! });
    expect(items).toMatchObject([{ id: "q", role: "user", content: "one" }]);
    expect(rest).toEqual({});
    chat.close();
  });

  test("reads how the answer to a turn ended", async () => {
    const folder = await createHistory();
    await using server = await startPicoServer({
      first: conversations({ store: storeIn(folder) }) as unknown as AnyPlugin,
      app: async (message) => {
        await message.reply({ content: "done", usage: { input: 3, output: 1 } });
        if (message.content === "fail") throw new Error("broken");
      },
    });
    const ended: string[] = [];
    let resolve: () => void;
    const both = new Promise<void>((fulfil) => void (resolve = fulfil));
    const chat = open(`ws://127.0.0.1:${server.port}/pico`, {
      onEnd: ({ outcome }) => void (ended.push(outcome) === 2 && resolve()),
    });
    await chat.send({ id: "good", content: "hello" }).accepted;
    await chat.send({ id: "bad", content: "fail" }).accepted.catch(() => undefined);
    await both;
    const { items } = await chat.history();
    expect(items.filter(({ role }) => role === "user")).toMatchObject([
      { requestId: "good", outcome: "completed", usage: { input: 3, output: 1 } },
      { requestId: "bad", outcome: "failed", code: "internal" },
    ]);
    chat.close();
  });

  test("rejects with the code of the server", async () => {
    await using server = await withHistory();
    const chat = open(`ws://127.0.0.1:${server.port}/pico`, { token: "x".repeat(43) });
    await expect(chat.history()).rejects.toMatchObject({
      name: "ChatError",
      code: "token_mismatch",
    });
    chat.close();
  });

  test.each([
    ["a failed request", () => Promise.reject(new TypeError("no network"))],
    ["text that is not JSON", () => Promise.resolve(new Response("<html>"))],
    ["another document", () => Promise.resolve(Response.json({}))],
  ])("rejects with history_unavailable after %s", async (_, fetch) => {
    const chat = open("ws://127.0.0.1:1/pico", { fetch });
    await expect(chat.history()).rejects.toMatchObject({ code: "history_unavailable" });
    chat.close();
  });
});
