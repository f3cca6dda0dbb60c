import { describe, expect, test } from "vitest";
import { conversations, type Conversations } from "../../../../plugins/conversations/index.ts";
import type { AnyPlugin } from "../../../../kernel/index.ts";
import { identifiedHost } from "../../../support/identified-host.ts";
import {
  fetchJson,
  rejection,
  startPicoServer,
  type JsonResponse,
} from "../../../support/pico-server-harness.ts";
import { createHistory, storeIn } from "../../../support/sqlite-conversations.ts";
import { createFolder, Disk, entry, epoch } from "../../../support/sqlite-store.ts";

/** Lists the plugin with a store of one conversation for each of these sessions. */
async function stored(...sessions: readonly string[]): Promise<AnyPlugin> {
  const folder = await createHistory(
    ...sessions.flatMap((session) => [
      entry("user", "q1", `question in ${session}`, { session }),
      entry("create", "a1", "answer", { session, payload: { request_id: "q1" } }),
      entry("user", "q2", "thanks", { session }),
    ]),
  );
  return conversations({ store: storeIn(folder) }) as unknown as AnyPlugin;
}

const contents = ({ body }: JsonResponse): string[] =>
  (body["turns"] as { content: string }[]).map(({ content }) => content);

describe("GET /pico/history", () => {
  test("returns both sides of a session, page by page", async () => {
    await using testServer = await startPicoServer({ first: await stored("s1", "s2") });
    const path = "/pico/history?session_id=s1";
    const page = await fetchJson(testServer.port, `${path}&limit=2`);
    expect(page).toMatchObject({ status: 200, headers: { "cache-control": "no-store" } });
    expect(contents(page)).toEqual(["answer", "thanks"]);
    expect(page.body["turns"]).toMatchObject([
      { id: "a1", seq: 2, role: "assistant", inReplyTo: "q1" },
      { id: "q2", seq: 3, role: "user" },
    ]);
    expect(page.body["before"]).toBe(`${epoch}:2`);
    const earlier = await fetchJson(
      testServer.port,
      `${path}&before=${String(page.body["before"])}`,
    );
    expect(contents(earlier)).toEqual(["question in s1"]);
    expect(earlier.body).not.toHaveProperty("before");
  });

  test("names the code of a failed answer as answer.end does", async () => {
    await using testServer = await startPicoServer({
      first: await stored("s1"),
      app: (message) => {
        message.accept();
        return message.reply({ content: "x".repeat(2_000_000) }).then(() => undefined);
      },
    });
    const message = { session_id: "s1", id: "q3", content: "hi" };
    const options = { method: "POST", body: message };
    await fetchJson(testServer.port, "/pico/messages?wait=5", options);
    const page = await fetchJson(testServer.port, "/pico/history?session_id=s1&limit=1");
    const end = { requestId: "q3", outcome: "failed", code: "reply_too_large" };
    expect(page.body["turns"]).toMatchObject([end]);
  });

  test("returns an empty page for unknown sessions and without a store", async () => {
    const empty = { status: 200, body: { turns: [] } };
    const memory = conversations() as unknown as AnyPlugin;
    for (const first of [await stored("s1"), memory, undefined]) {
      await using testServer = await startPicoServer(first ? { first } : {});
      expect(await fetchJson(testServer.port, "/pico/history?session_id=unknown")).toMatchObject(
        empty,
      );
    }
  });

  test("rejects requests without the token, other methods and malformed queries", async () => {
    await using testServer = await startPicoServer({ first: await stored("s1") });
    const path = "/pico/history?session_id=s1";
    const send = (query: string, options?: Parameters<typeof fetchJson>[2]) =>
      fetchJson(testServer.port, path + query, options);
    expect(await send("", { headers: { authorization: "" } })).toMatchObject({ status: 401 });
    expect(await send("", { method: "POST", body: {} })).toMatchObject(
      rejection(405, "method_not_allowed", { allow: "GET, OPTIONS" }),
    );
    for (const query of ["&limit=0", "&limit=201", "&limit=x", "&before=x", "&limit=1&limit=2"])
      expect(await send(query)).toMatchObject(rejection(400, "bad_handshake"));
    for (const query of ["", "?session_id=", "?session_id=a&session_id=b"])
      expect(await fetchJson(testServer.port, `/pico/history${query}`)).toMatchObject(
        rejection(400, "invalid_session_id"),
      );
  });

  test("limits identified people to their own sessions", async () => {
    await using host = await identifiedHost({
      identify: (id) => ({ id }),
      first: await stored("host:ann/notes", "host:bob/notes", "s1"),
    });
    const read = (user: string, session: string) =>
      host.ask(user, `/pico/history?session_id=${encodeURIComponent(session)}`);
    expect(contents(await read("ann", "notes"))[0]).toBe("question in host:ann/notes");
    expect(await read("ann", "host:bob/notes")).toMatchObject({ status: 403 });
    expect(contents(await read("ann", "s1"))).toEqual([]);
  });

  test("answers 503 while the store is away", async () => {
    const disk = new Disk();
    await using testServer = await startPicoServer({
      first: conversations({ store: storeIn(createFolder(), disk) }) as unknown as AnyPlugin,
    });
    disk.readCode = 10;
    const answer = await fetchJson(testServer.port, "/pico/history?session_id=s1");
    expect(answer).toMatchObject(rejection(503, "store_unavailable"));
    expect(answer.body["message"]).toContain("conversations");
  });

  test("ends a page early if its turns are large", async () => {
    const address = { channel: "pico", session: "s1" };
    const large = "x".repeat(500_000);
    const entries = Array.from({ length: 20 }, (_, n) => entry("user", `q${n}`, large, address));
    const folder = await createHistory(...entries);
    await using testServer = await startPicoServer({
      first: conversations({ store: storeIn(folder) }) as unknown as AnyPlugin,
    });
    let before = "";
    let turns = 0;
    let pages = 0;
    do {
      const answer = await fetchJson(
        testServer.port,
        `/pico/history?session_id=s1&limit=200${before}`,
      );
      turns += contents(answer).length;
      pages += 1;
      before = "before" in answer.body ? `&before=${String(answer.body["before"])}` : "";
    } while (before !== "");
    expect([turns, pages]).toEqual([20, 3]);
    let text = "";
    const store = (testServer.services as unknown as { conversations: Conversations })
      .conversations;
    const { id } = (await store.find(address))!;
    for await (const part of store.export(id, "json")) text += part;
    expect((JSON.parse(text) as { turns: unknown[] }).turns).toHaveLength(20);
  });
});
