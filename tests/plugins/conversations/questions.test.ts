// Tests questions that outlive their process, in SQLite.
import { cpSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../kernel/index.ts";
import type { Application, Message, QuestionInput } from "../../../plugins/channels/index.ts";
import { conversations, type Conversations } from "../../../plugins/conversations/index.ts";
import { programErrors } from "../../../plugins/program/errors.ts";
import { settle, storeIn } from "../../support/sqlite-conversations.ts";
import { createFolder } from "../../support/sqlite-store.ts";
import { startPicoServer, waitFor } from "../../support/pico-server-harness.ts";

const approval: QuestionInput = { kind: "approval", content: "Go on?" };
const to = { channel: "pico", session: "ann" };
const by = { id: "owner", name: "Ann" };

/** Starts a server over the store of a folder. */
async function start(folder: string, app: Application = () => undefined) {
  const plugin = conversations({ store: storeIn(folder) });
  const server = await startPicoServer({ first: plugin as unknown as AnyPlugin, app });
  const history = (server.kernel.services as unknown as { conversations: Conversations })
    .conversations;
  return { ...server, history, calls: server.services.channels, stop: () => server.kernel.stop() };
}

async function turns(history: Conversations) {
  const found = await history.find(to);
  return { found: found!, items: (await history.read(found!.id)).items };
}

describe("questions in SQLite", () => {
  test("keeps the question and its settlement in history", async () => {
    const server = await start(createFolder(), async ({ ask }) => void (await ask(approval)));
    const client = await server.connect("/pico?session_id=ann");
    client.send({ type: "message.send", payload: { content: "clean" } });
    const [open] = await waitFor(
      () => server.calls.questions().length > 0 && server.calls.questions(),
    );
    expect((await turns(server.history)).items[1]).toMatchObject({
      id: open!.id,
      complete: false,
      question: { state: "open", options: [{ id: "allow" }, { id: "deny" }] },
    });
    await server.calls.answer(to, open!.id, { option: "deny" }, by, "dashboard");
    expect((await turns(server.history)).items[1]).toMatchObject({
      content: "Go on?\n\nDenied (“Deny”) by Ann, in the dashboard.",
      question: { state: "settled", settled: { outcome: "answered", option: "deny", by } },
    });
    await server.stop();
  });

  test("keeps a durable question open over a restart", async () => {
    const folder = createFolder();
    const first = await start(folder);
    const { id } = await first.calls.ask(to, { ...approval, durable: "step-3" });
    await first.stop();
    const received: Message[] = [];
    const second = await start(folder, (message) => void received.push(message));
    await settle();
    expect(second.calls.questions()).toMatchObject([
      { ...to, id, content: "Go on?", question: { durable: "step-3", state: "open" } },
    ]);
    await second.calls.answer(to, id, { option: "allow" }, by, "cli");
    await waitFor(() => received.length === 1);
    expect(received[0]).toMatchObject({
      id: `answer:${id}`,
      answer: { key: "step-3", outcome: "answered", option: "allow", effect: "allow" },
    });
    // The application has accepted it as soon as the store says so.
    await expect.poll(() => second.history.questions!.list()).toEqual([]);
    await second.stop();
    const third = await start(folder, (message) => void received.push(message));
    await settle(8);
    expect(received).toHaveLength(1);
    expect(third.calls.questions()).toEqual([]);
    await expect(third.calls.answer(to, id, { option: "deny" }, by, "cli")).resolves.toMatchObject({
      status: "already",
      settled: { option: "allow" },
    });
    await third.stop();
  });

  test("loses a question after a crash without changing the list", async () => {
    const folder = createFolder();
    const first = await start(folder);
    void first.calls.ask(to, approval).catch(() => undefined);
    await waitFor(() => first.calls.questions().length > 0);
    await settle();
    first.clock.increment(60_000);
    await first.calls.send({ ...to, session: "bob" }, { content: "hello" });
    await settle();
    const before = await first.history.list();
    // The files after a kill.
    const copy = createFolder();
    cpSync(folder, copy, {
      recursive: true,
      filter: (path) => !path.endsWith(".lock"),
    });
    await first.stop();

    const second = await start(copy);
    second.clock.increment(120_000);
    await settle(8);
    expect(second.calls.questions()).toEqual([]);
    const { items } = await turns(second.history);
    expect(items[0]).toMatchObject({
      content: "Go on?\n\nDoorward restarted before this was answered. Ask again.",
      question: { state: "settled", settled: { outcome: "lost" } },
    });
    const used = (list: typeof before) => list.items.map(({ id, usedAt }) => [id, usedAt]);
    expect(used(await second.history.list())).toEqual(used(before));
    await second.stop();
  });

  test.each([
    ["was killed", "endless", "ended"],
    ["has ended as a program does", "ends", "ended"],
    ["wrote something before it was killed", "writes", undefined],
    ["has gone on to the end", "completes", undefined],
  ])("says what followed an allowed question: the application %s", async (_, way, expected) => {
    const folder = createFolder();
    const asks: Application = async ({ ask, reply }) => {
      const { effect } = await ask(approval);
      if (way === "writes" || effect === "deny") await reply({ content: "on my way" });
      if (way === "ends") throw programErrors.application_ended("exit 1", true);
      if (way !== "completes") await new Promise(() => undefined);
    };
    const first = await start(folder, asks);
    const client = await first.connect("/pico?session_id=ann");
    client.send({ type: "message.send", id: "m1", payload: { content: "clean" } });
    const [open] = await waitFor(
      () => first.calls.questions().length > 0 && first.calls.questions(),
    );
    await first.calls.answer(to, open!.id, { option: "allow" }, by, "dashboard");
    await settle(8);
    const unfinishedIn = async (history: Conversations) =>
      (await turns(history)).items.find(({ id }) => id === open!.id)!.unfinished;
    if (way !== "ends") await expect(unfinishedIn(first.history)).resolves.toBeUndefined();
    const copy = createFolder();
    cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith(".lock") });
    await first.kernel.stop({ timeoutMs: 1_000 }).catch(() => undefined);
    const second = await start(copy);
    await expect(unfinishedIn(second.history)).resolves.toBe(expected);
    const { found, items } = await turns(second.history);
    const document: string[] = [];
    for await (const part of second.history.export(found.id, "markdown")) document.push(part);
    const sentence = "the application ended after this answer and wrote nothing more";
    expect(document.join("").includes(sentence)).toBe(expected !== undefined);
    expect(items[0]!.outcome === "lost").toBe(way === "endless");
    await second.stop();
  });

  test("says that the answer to a durable question waits", async () => {
    let isReady = false;
    const server = await start(createFolder(), () => {
      if (!isReady) throw new Error("not now");
    });
    const { id } = await server.calls.ask(to, { ...approval, durable: "step-3" });
    await server.calls.answer(to, id, { option: "allow" }, by, "cli");
    const unfinished = async () => (await turns(server.history)).items[0]!.unfinished;
    await expect(unfinished()).resolves.toBe("waiting");
    isReady = true;
    server.calls.deliverAnswers();
    await expect.poll(unfinished).toBeUndefined();
    await server.stop();
  });

  test("delivers an answer that no application has accepted at the next start", async () => {
    const folder = createFolder();
    const first = await start(folder, () => {
      throw new Error("not now");
    });
    const { id } = await first.calls.ask(to, { ...approval, durable: "step-3" });
    await first.calls.answer(to, id, { option: "deny" }, by, "cli");
    await settle(8);
    await first.stop();
    const received: Message[] = [];
    const second = await start(folder, (message) => void received.push(message));
    await waitFor(() => received.length === 1);
    expect(received[0]).toMatchObject({ id: `answer:${id}`, answer: { effect: "deny" } });
    await second.stop();
  });

  test("withdraws a question when its conversation is forgotten", async () => {
    const server = await start(createFolder());
    const asked = server.calls.ask(to, approval);
    const [open] = await waitFor(
      () => server.calls.questions().length > 0 && server.calls.questions(),
    );
    await settle();
    const { found } = await turns(server.history);
    await server.history.forget(found.id);
    await expect(asked).resolves.toMatchObject({ outcome: "withdrawn" });
    await expect(
      server.calls.answer(to, open!.id, { option: "allow" }, by, "cli"),
    ).resolves.toEqual({ status: "unknown" });
    await server.stop();
  });
});
