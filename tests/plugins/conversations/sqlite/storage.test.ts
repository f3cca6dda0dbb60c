import fs from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createCapturedLog } from "../../../../kernel/testing.ts";
import {
  address,
  begin,
  emptyBatch,
  entry,
  epoch,
  openStorage,
  say,
  write,
} from "../../../support/sqlite-storage-harness.ts";

describe("commit", () => {
  test("writes nothing of a batch that fails", async () => {
    const storage = await openStorage();
    await begin(storage, entry(1, "user", "u1", "first"));
    const before = await storage.load(address);
    const other = { session: "other" };
    const failing = storage.commit({
      ...emptyBatch,
      streams: [{ channel: "pico", session: "other", epoch, seq: 0 }],
      entries: [entry(1, "user", "x", "lost", other), entry(1, "user", "u2", "a used number")],
    });
    await expect(failing).rejects.toMatchObject({ code: "store_unavailable" });
    expect(await storage.load(address)).toEqual(before);
    expect(await storage.find({ channel: "pico", session: "other" })).toBeUndefined();
    await write(storage, [entry(2, "user", "u2", "second")]);
    expect((await storage.load(address))!.seq).toBe(2);
  });

  test("rejects on a full disk and works when there is room", async () => {
    const { log, lines } = createCapturedLog();
    const storage = await openStorage({ log });
    await begin(storage, entry(1, "user", "u1", "hello"));
    const full = Object.assign(new Error("no space left"), { code: "ENOSPC" });
    const disk = vi.spyOn(fs, "writeSync").mockImplementation(() => {
      throw full;
    });
    onTestFinished(() => disk.mockRestore());
    const next = [entry(2, "create", "m1", "answer")];
    await expect(write(storage, next)).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringContaining("the disk is full"),
    });
    expect(storage.health()).toMatchObject({
      state: "away",
      problem: expect.stringContaining("the disk is full"),
    });
    expect(lines.filter(({ level }) => level === "warn")).toHaveLength(1);
    expect(await storage.load(address)).toMatchObject({ seq: 1, frames: [{ seq: 1 }] });
    disk.mockRestore();
    await write(storage, next);
    expect(storage.health().state).toBe("up");
    expect((await storage.load(address))!.seq).toBe(2);
  });

  test("keeps a batch whose rows do not fit, and rejects others", async () => {
    const storage = await openStorage({ maxPages: 60 });
    const old = await say(storage, "old", "x".repeat(60_000));
    await begin(storage, entry(1, "user", "u1", "hello"));
    await write(storage, [entry(2, "create", "m1", "y".repeat(150_000))]);
    await expect(storage.load(address)).rejects.toMatchObject({
      message: expect.stringContaining("the disk is full"),
    });
    await vi.waitFor(() => expect(storage.health().state).toBe("away"), 20_000);
    const later = entry(3, "create", "m2", "short");
    await expect(write(storage, [later])).rejects.toMatchObject({ code: "store_unavailable" });
    await storage.forget(old);
    await write(storage, [later]);
    expect(storage.health().state).toBe("up");
    expect((await storage.load(address))!.seq).toBe(3);
  });

  test("reports the store as available when an attempt to write succeeds", async () => {
    const storage = await openStorage();
    await begin(storage, entry(1, "user", "u1", "hello"));
    const disk = vi.spyOn(fs, "writeSync").mockImplementationOnce(() => {
      throw new Error("broken");
    });
    await write(storage, [entry(2, "create", "m1", "text")]).catch(() => {});
    disk.mockRestore();
    expect(storage.health()).toMatchObject({
      state: "away",
      problem: expect.stringMatching("broken"),
    });
    await vi.waitFor(() => expect(storage.health().state).toBe("up"), 20_000);
  });

  test("rejects after close", async () => {
    const storage = await openStorage();
    await storage.close();
    await expect(storage.commit(emptyBatch)).rejects.toMatchObject({ code: "store_unavailable" });
    await expect(storage.list()).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test("keeps ids of an address without a stream", async () => {
    const storage = await openStorage();
    const taken = [{ channel: "mqtt", session: "a", id: "1", digest: "d", at: Date.now() }];
    await storage.commit({ ...emptyBatch, taken });
    expect(await storage.load(taken[0]!)).toMatchObject({
      seq: 0,
      epoch: expect.stringMatching(/^[0-9a-f]{16}$/),
      taken: [{ id: "1", digest: "d" }],
    });
    expect(await storage.find(taken[0]!)).toBeUndefined();
    expect((await storage.list()).items).toEqual([]);
  });
});

describe("load", () => {
  test("bounds frames by number and bytes, and ids by number and age", async () => {
    let now = 1_000_000;
    const clock = { now: () => now, monotonic: () => now, setTimeout: () => 0, clearTimeout() {} };
    const storage = await openStorage({ clock });
    const many = Array.from({ length: 300 }, (_, at) => entry(at + 1, "user", `u${at}`, "short"));
    await begin(storage, ...many);
    expect((await storage.load(address))!.frames.map(({ seq }) => seq)).toEqual(
      Array.from({ length: 256 }, (_, at) => at + 45),
    );
    const wide = Array.from({ length: 8 }, (_, at) =>
      entry(301 + at, "create", `m${at}`, "x".repeat(100_000)),
    );
    const taken = Array.from({ length: 1_100 }, (_, at) => ({
      ...address,
      id: `t${at}`,
      digest: "d",
      at: now + at,
    }));
    await storage.commit({ ...emptyBatch, entries: wide, taken });
    const loaded = (await storage.load(address))!;
    expect(loaded.frames.map(({ seq }) => seq)).toEqual([304, 305, 306, 307, 308]);
    expect(loaded.taken).toHaveLength(1_024);
    expect(loaded.taken.at(0)).toMatchObject({ id: "t76" });
    now += 600_000 + 1_050;
    expect((await storage.load(address))!.taken[0]).toMatchObject({ id: "t1051", ageMs: 599_999 });
  });

  test("continues with a new epoch after the conversation was forgotten", async () => {
    const storage = await openStorage();
    const id = await begin(storage, entry(1, "user", "u1", "hello"));
    await storage.forget(id);
    expect(await storage.load(address)).toBeUndefined();
    const next = await begin(storage, entry(1, "user", "u1", "again"));
    expect(next).not.toBe(id);
    expect(await storage.read(next)).toMatchObject({ items: [{ content: "again" }] });
  });
});

describe("read", () => {
  test("assembles all fields of a turn", async () => {
    const storage = await openStorage();
    const image = "data:image/png;base64,AAAA";
    const file = { type: "file", url: "https://example.org/a.pdf", filename: "a.pdf" };
    const sender = { id: "owner", name: "Ann" };
    const payload = { request_id: "q1", media: [image], sender, door: "pico" };
    const id = await begin(
      storage,
      entry(1, "user", "u1", "look", { payload }),
      entry(2, "create", "m1", "hmm", { payload: { kind: "thought", request_id: "u1" } }),
      entry(3, "create", "m2", "par", { final: false }),
      entry(4, "create", "m3", "", { payload: { placeholder: true } }),
      entry(5, "create", "m4", "file", { payload: { attachments: [file], model_name: "m" } }),
      entry(6, "create", "m5", "", {
        payload: { kind: "tool_calls", tool_calls: [{ name: "f" }] },
      }),
    );
    expect((await storage.read(id)).items).toEqual([
      {
        id: "u1",
        seq: 1,
        role: "user",
        content: "look",
        requestId: "q1",
        sender: { id: "owner", name: "Ann" },
        door: "pico",
        attachments: [{ type: "image/png", url: image }],
        at: 1_001,
      },
      {
        id: "m1",
        seq: 2,
        role: "assistant",
        content: "hmm",
        kind: "thought",
        inReplyTo: "u1",
        at: 1_002,
      },
      { id: "m2", seq: 3, role: "assistant", content: "par", complete: false, at: 1_003 },
      {
        id: "m4",
        seq: 5,
        role: "assistant",
        content: "file",
        model: "m",
        attachments: [{ type: "file", url: file.url, filename: "a.pdf" }],
        at: 1_005,
      },
      {
        id: "m5",
        seq: 6,
        role: "assistant",
        content: "",
        kind: "tool_calls",
        toolCalls: [{ name: "f" }],
        at: 1_006,
      },
    ]);
  });

  test("lists the latest text without thoughts and deleted messages", async () => {
    const storage = await openStorage();
    const long = "many words ".repeat(20);
    await begin(
      storage,
      entry(1, "user", "u1", "hello"),
      entry(2, "create", "m1", `first\nline ${long}`),
      entry(3, "create", "m2", "hmm", { payload: { kind: "thought" } }),
      entry(4, "create", "m3", "removed"),
      entry(5, "delete", "m3", ""),
    );
    const [{ preview = "" } = {}] = (await storage.list()).items;
    expect(preview).toBe(`first line ${long}`.slice(0, 120));
  });

  test("removes markdown from the latest text", async () => {
    const storage = await openStorage();
    const text = "# Plan\n\n- Hello **there**, see [the `docs`](https://door.example/docs)";
    await begin(storage, entry(1, "user", "u1", "hello"), entry(2, "create", "m1", text));
    const [{ preview } = {}] = (await storage.list()).items;
    expect(preview).toBe("Plan Hello there, see the docs");
  });

  test("rejects unknown ids and malformed cursors with not_found", async () => {
    const storage = await openStorage();
    const id = await begin(storage, entry(1, "user", "u1", "hello"));
    const calls = [
      storage.read("unknown"),
      storage.get("unknown"),
      storage.rename("unknown", "x"),
      storage.forget("unknown"),
      storage.read(id, { before: "nonsense" }),
      storage.list({ before: "nonsense" }),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("search", () => {
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
    const storage = await openStorage();
    await begin(
      storage,
      entry(1, "user", "u1", "hello world"),
      entry(2, "create", "m1", "a Café"),
      entry(3, "create", "m2", "unfinished", { final: false }),
      entry(4, "create", "m3", "removed"),
      entry(5, "delete", "m3"),
      entry(6, "create", "m4", "draft"),
      entry(7, "update", "m4", "final text"),
    );
    const hits = await storage.search(text);
    expect(hits.map(({ turn }) => turn.content)).toEqual(expected);
  });

  test("cuts an excerpt of plain text around the match", async () => {
    const storage = await openStorage();
    const filler = "<b>filler</b> ".repeat(100);
    await begin(storage, entry(1, "user", "u1", `${filler}**needle**\nhere ${filler}`));
    const [hit] = await storage.search("needle");
    expect(hit!.excerpt).toContain("needle here");
    expect(hit!.excerpt.length).toBeLessThanOrEqual(200);
  });
});

describe("rename", () => {
  test("sets the title, finds it, and restores the first words", async () => {
    const storage = await openStorage();
    const id = await begin(storage, entry(1, "user", "u1", "first words"));
    await storage.rename(id, ` A  new\nname ${"x".repeat(300)}`);
    const renamed = await storage.get(id);
    expect(renamed).toMatchObject({ renamed: true, title: expect.stringMatching(/^A new name x/) });
    expect(renamed.title).toHaveLength(200);
    expect((await storage.list({ query: "NEW NAME" })).items).toHaveLength(1);
    expect((await storage.list({ query: "words" })).items).toHaveLength(0);
    await storage.rename(id, "");
    expect(await storage.get(id)).toMatchObject({ renamed: false, title: "first words" });
    expect((await storage.list({ query: "words" })).items).toHaveLength(1);
  });
});
