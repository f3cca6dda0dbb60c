import { describe, expect, test } from "vitest";
import {
  address,
  begin,
  entry,
  openStore,
  say,
  settleUpkeep,
  StoppedTime,
  take,
  write,
} from "../../../support/sqlite-store.ts";

describe("settle", () => {
  test("keeps ids of an address without a stream", async () => {
    const store = await openStore();
    await take(store, "1", "d", { channel: "mqtt", session: "a" });
    const other = { channel: "mqtt", session: "a" };
    expect(store.load(other)).toMatchObject({
      seq: 0,
      epoch: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(store.knownIds(other)).toMatchObject([{ id: "1", digest: "d" }]);
    expect(store.history.find(other)).toBeUndefined();
    expect(store.history.list().items).toEqual([]);
  });

  test("bounds ids by number and age", async () => {
    const clock = new StoppedTime();
    const store = await openStore({ clock });
    await begin(store, entry("user", "u0", "text", { request: "first" }));
    await take(store, "first", "d");
    for (let round = 0; round < 11; round++) {
      const ids = Array.from({ length: 100 }, (_, at) => `t${round * 100 + at}`);
      await Promise.all(ids.map((id) => take(store, id, "d")));
      await clock.pass(1_000);
    }
    const known = store.knownIds(address);
    expect(known).toHaveLength(1_024);
    expect(known.at(-1)).toMatchObject({ id: "t1099", ageMs: 1_000 });
    expect(known.at(0)).toMatchObject({ id: "t76" });
    await clock.pass(600_000 - 2_000);
    expect(store.knownIds(address)[0]).toMatchObject({ id: "t1000", ageMs: 599_000 });
    await clock.pass(2_000);
    expect(store.knownIds(address)).toEqual([]);
  });
});

describe("load", () => {
  test("bounds frames by number and bytes", async () => {
    const store = await openStore();
    const many = Array.from({ length: 300 }, (_, at) => entry("user", `u${at}`, "short"));
    await begin(store, ...many);
    expect(store.load(address)!.frames.map(({ seq }) => seq)).toEqual(
      Array.from({ length: 256 }, (_, at) => at + 45),
    );
    const wide = Array.from({ length: 8 }, (_, at) =>
      entry("create", `m${at}`, "x".repeat(100_000)),
    );
    await write(store, ...wide);
    const frames = store.load(address)!.frames.map(({ seq }) => seq);
    expect(frames).toEqual([304, 305, 306, 307, 308]);
  });

  test("continues as a new conversation after the old one was forgotten", async () => {
    const store = await openStore();
    const id = await begin(store, entry("user", "u1", "hello"));
    await store.forget(id, () => {});
    expect(store.load(address)).toBeUndefined();
    const next = await begin(store, entry("user", "u1", "again"));
    expect(next).not.toBe(id);
    expect(store.history.read(next)).toMatchObject({ items: [{ content: "again", seq: 1 }] });
  });
});

describe("read", () => {
  test("assembles all fields of a turn", async () => {
    const store = await openStore();
    const image = "data:image/png;base64,AAAA";
    const file = { type: "file", url: "https://example.org/a.pdf", filename: "a.pdf" };
    const sender = { id: "owner", name: "Ann" };
    const payload = { request_id: "q1", media: [image], sender, door: "pico" };
    const id = await begin(
      store,
      entry("user", "u1", "look", { payload, request: "q1" }),
      entry("create", "m1", "hmm", { payload: { kind: "thought", request_id: "u1" } }),
      entry("create", "m2", "par", { final: false }),
      entry("create", "m3", "", { payload: { placeholder: true } }),
      entry("create", "m4", "file", { payload: { attachments: [file], model_name: "m" } }),
      entry("create", "m5", "", {
        payload: { kind: "tool_calls", tool_calls: [{ name: "f" }] },
      }),
    );
    expect(store.history.read(id).items).toEqual([
      {
        id: "u1",
        seq: 1,
        role: "user",
        content: "look",
        requestId: "q1",
        sender: { id: "owner", name: "Ann" },
        door: "pico",
        attachments: [{ type: "image/png", url: image }],
        at: 1_000,
      },
      {
        id: "m1",
        seq: 2,
        role: "assistant",
        content: "hmm",
        kind: "thought",
        inReplyTo: "u1",
        at: 1_000,
      },
      { id: "m2", seq: 3, role: "assistant", content: "par", complete: false, at: 1_000 },
      {
        id: "m4",
        seq: 5,
        role: "assistant",
        content: "file",
        model: "m",
        attachments: [{ type: "file", url: file.url, filename: "a.pdf" }],
        at: 1_000,
      },
      {
        id: "m5",
        seq: 6,
        role: "assistant",
        content: "",
        kind: "tool_calls",
        toolCalls: [{ name: "f" }],
        at: 1_000,
      },
    ]);
  });

  test("lists the latest text without thoughts and deleted messages", async () => {
    const store = await openStore();
    const long = "many words ".repeat(20);
    await begin(
      store,
      entry("user", "u1", "hello"),
      entry("create", "m1", `first\nline ${long}`),
      entry("create", "m2", "hmm", { payload: { kind: "thought" } }),
      entry("create", "m3", "removed"),
      entry("delete", "m3", ""),
    );
    const [{ preview = "" } = {}] = store.history.list().items;
    expect(preview).toBe(`first line ${long}`.slice(0, 120));
  });

  test("removes markdown from the latest text", async () => {
    const store = await openStore();
    const text = "# Plan\n\n- Hello **there**, see [the `docs`](https://door.example/docs)";
    await begin(store, entry("user", "u1", "hello"), entry("create", "m1", text));
    const [{ preview } = {}] = store.history.list().items;
    expect(preview).toBe("Plan Hello there, see the docs");
  });

  test("rejects unknown ids and malformed cursors with not_found", async () => {
    const store = await openStore();
    const id = await begin(store, entry("user", "u1", "hello"));
    const calls: (() => unknown)[] = [
      () => store.history.read("unknown"),
      () => store.history.get("unknown"),
      () => store.rename("unknown", "x"),
      () => store.forget("unknown", () => {}),
      () => store.history.read(id, { before: "nonsense" }),
      () => store.history.list({ before: "nonsense" }),
    ];
    for (const call of calls)
      await expect((async () => call())()).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("search", () => {
  test.each([
    ["ga*", 0],
    ['"ga"*', 0],
    ["g* OR zebra", 1],
    ["gar*", 2],
    ["garden", 1],
    ["庭*", 1],
  ])("finds with %s %d turns", async (text, count) => {
    const store = await openStore();
    await say(store, "a", "garden");
    await say(store, "b", "garlic");
    await say(store, "c", "zebra");
    await say(store, "d", "庭園");
    store.completeIndex();
    expect(store.history.search(text)).toHaveLength(count);
  });

  test.each([
    ["plain words in any order", "world hello", ["hello world"]],
    ["other cases and accents", "CAFE", ["a Café"]],
    ["a phrase", '"hello world"', ["hello world"]],
    ["a prefix", "wor*", ["hello world"]],
    ["text that is not valid syntax", "hello-world (", ["hello world"]],
    ["a name like a column", "title: hello", []],
    ["signs only", '"-*(', []],
    ["quotation marks and zero bytes", 'hello" \0world', ["hello world"]],
    ["partial replies", "unfinished", []],
    ["deleted messages", "removed", []],
    ["replaced text", "draft", []],
    ["the latest text", "final", ["final text"]],
  ])("finds %s", async (_, text, expected) => {
    const store = await openStore();
    await begin(
      store,
      entry("user", "u1", "hello world"),
      entry("create", "m1", "a Café"),
      entry("create", "m2", "unfinished", { final: false }),
      entry("create", "m3", "removed"),
      entry("delete", "m3"),
      entry("create", "m4", "draft"),
      entry("update", "m4", "final text"),
    );
    await settleUpkeep(store);
    const hits = store.history.search(text);
    expect(hits.map(({ turn }) => turn.content)).toEqual(expected);
  });

  test("cuts an excerpt of plain text around the match", async () => {
    const store = await openStore();
    const filler = "<b>filler</b> ".repeat(100);
    await begin(store, entry("user", "u1", `${filler}**needle**\nhere ${filler}`));
    await settleUpkeep(store);
    const [hit] = store.history.search("needle");
    expect(hit!.excerpt).toContain("needle here");
    expect(hit!.excerpt.length).toBeLessThanOrEqual(200);
  });
});

describe("rename", () => {
  test("sets the title, finds it, and restores the first words", async () => {
    const store = await openStore();
    const id = await begin(store, entry("user", "u1", "first words"));
    await store.rename(id, ` A  new\nname ${"x".repeat(300)}`);
    const renamed = store.history.get(id);
    expect(renamed).toMatchObject({ renamed: true, title: expect.stringMatching(/^A new name x/) });
    expect(renamed.title).toHaveLength(200);
    expect(store.history.list({ query: "NEW NAME" }).items).toHaveLength(1);
    expect(store.history.list({ query: "words" }).items).toHaveLength(0);
    await store.rename(id, "");
    expect(store.history.get(id)).toMatchObject({ renamed: false, title: "first words" });
    expect(store.history.list({ query: "words" }).items).toHaveLength(1);
  });
});
