// Tests questions on a channel that keeps nothing itself.
import { cpSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import {
  application,
  channels,
  type Application,
  type ChannelAdapter,
  type OpenQuestion,
  type QuestionInput,
} from "../../../plugins/channels/index.ts";
import { conversations } from "../../../plugins/conversations/index.ts";
import { createSampleChannel } from "../../support/sample-channel.ts";
import { settle, storeIn } from "../../support/sqlite-conversations.ts";
import { createFolder, SettableClock } from "../../support/sqlite-store.ts";

const to = { channel: "sample", session: "s" };
const approval: QuestionInput = { kind: "approval", content: "Go on?" };
const by = { id: "ann" };

/** Starts a kernel over the store of a folder, with a channel that can update messages. */
async function start(
  folder: string,
  adapter: Partial<ChannelAdapter> = {},
  clock = new SettableClock(),
  handler: Application = () => undefined,
) {
  const updates: { readonly content: string; readonly state: string | undefined }[] = [];
  const channel = createSampleChannel({
    update: (_session, _id, { content, question }) =>
      void updates.push({ content, state: question?.state }),
    ...adapter,
  });
  const { log, lines } = createCapturedLog();
  const received: unknown[] = [];
  const plugins = [
    conversations({ store: storeIn(folder) }),
    channels(),
    channel.plugin,
    application((message, signal) => {
      received.push(message.answer);
      return handler(message, signal);
    }),
  ] as const;
  const kernel = createKernel(plugins, { log, clock });
  await kernel.start();
  onTestFinished(() => kernel.stop());
  await settle(8);
  const { channels: service, conversations: history } = kernel.services;
  const questions = async () =>
    (await service.history(to)).items.map(({ content, question }) => [content, question?.state]);
  return { channel, service, history, updates, lines, received, questions, kernel };
}

/** Copies the files of a running store, which is what a kill leaves. */
function killed(folder: string): string {
  const copy = createFolder();
  cpSync(folder, copy, { recursive: true, filter: (path) => !path.endsWith(".lock") });
  return copy;
}

/** Asks, and waits until the client has the question. */
async function ask({ channel, service }: Awaited<ReturnType<typeof start>>) {
  const outcome = service.ask(to, approval);
  await expect.poll(() => channel.sent.length).toBe(1);
  return { outcome, id: service.questions(to)[0]!.id };
}

test("closes the question of a killed process as lost", async () => {
  const folder = createFolder();
  const { id } = await ask(await start(folder));
  const second = await start(killed(folder));
  const lost = "Go on?\n\nDoorward restarted before this was answered. Ask again.";
  await expect.poll(() => second.updates).toEqual([{ content: lost, state: "settled" }]);
  expect(await second.questions()).toEqual([[lost, "settled"]]);
  expect(second.service.questions()).toEqual([]);
  expect(await second.history.questions!.list()).toEqual([]);
  await expect(
    second.service.answer(to, id, { option: "allow" }, by, "pico"),
  ).resolves.toMatchObject({ status: "already", settled: { outcome: "lost" } });
});

test("stores that a message is accepted together with its question", async () => {
  const folder = createFolder();
  const asks: Application = async (message) => void (await message.ask(approval));
  const first = await start(folder, {}, new SettableClock(), asks);
  const message = { session: "s", id: "m", content: "hello" };
  expect(await first.channel.inlet().deliver(message, { dedupe: true })).toBe("accepted");
  const second = await start(killed(folder));
  await expect.poll(() => second.updates).toMatchObject([{ state: "settled" }]);
});

test("keeps a durable question over a kill, and delivers its answer", async () => {
  const folder = createFolder();
  const first = await start(folder);
  const { id } = await first.service.ask(to, { ...approval, durable: "step" });
  const second = await start(killed(folder));
  expect(second.service.questions(to)).toMatchObject([{ id, question: { durable: "step" } }]);
  await second.channel.inlet().answer("s", id, { option: "allow" }, by);
  await expect
    .poll(() => second.received)
    .toMatchObject([{ key: "step", effect: "allow", messageId: id }]);
});

test("expires no durable question while the clock is hours ahead", async () => {
  const folder = createFolder();
  const first = await start(folder);
  const question = { ...approval, durable: "step", timeoutMs: 3_600_000 } as const;
  const { id } = await first.service.ask(to, question);
  await first.kernel.stop();
  const clock = new SettableClock();
  clock.at = Date.now() + 2 * 3_600_000;
  const second = await start(folder, {}, clock);
  const answer = () => second.service.answer(to, id, { option: "allow" }, by, "pico");
  expect(await answer()).toEqual({
    status: "invalid",
    problem: "The time for an answer is over.",
  });
  expect(second.service.questions(to)).toMatchObject([{ id }]);
  clock.at = undefined;
  expect(await answer()).toMatchObject({ status: "settled" });
});

test("expires a durable question of an earlier process by both clocks", async () => {
  const folder = createFolder();
  const first = await start(folder);
  const { id } = await first.service.ask(to, { ...approval, durable: "step", timeoutMs: 1_000 });
  const second = await start(killed(folder));
  const expired = { key: "step", outcome: "expired", messageId: id };
  await expect.poll(() => second.received).toMatchObject([expired]);
});

test("stores a question, and its answer, before the client sees it", async () => {
  const folder = createFolder();
  const stored: unknown[] = [];
  const states = async (): Promise<void> => void stored.push(await first.questions());
  const first = await start(folder, { send: states, update: states });
  const outcome = first.service.ask(to, approval);
  await expect.poll(() => stored).toEqual([[["Go on?", "open"]]]);
  const [{ id }] = first.service.questions(to) as readonly [OpenQuestion];
  await first.service.answer(to, id, { option: "deny" }, by, "pico");
  expect(stored[1]).toEqual([["Go on?\n\nDenied (“Deny”) by ann.", "settled"]]);
  await expect(outcome).resolves.toMatchObject({ effect: "deny" });
  const second = await start(killed(folder));
  expect(second.updates).toEqual([]);
});

test("asks nothing that the store does not keep", async () => {
  const server = await start(createFolder());
  const log = server.history.open("sample", {} as never);
  const { append } = log;
  log.append = () => Promise.reject(new Error("the disk is full"));
  await expect(server.service.ask(to, approval)).rejects.toThrow();
  expect(server.channel.sent).toEqual([]);
  expect(server.service.questions()).toEqual([]);
  log.append = append;
  await ask(server);
});

test("forgets a question that the channel rejects", async () => {
  const folder = createFolder();
  const server = await start(folder, { send: () => Promise.reject(new Error("gone")) });
  await expect(server.service.ask(to, approval)).rejects.toMatchObject({ code: "undeliverable" });
  expect(await server.questions()).toEqual([]);
  const second = await start(killed(folder));
  expect(second.updates).toEqual([]);
});

test("keeps a settlement that the channel cannot show", async () => {
  const server = await start(createFolder(), { update: () => Promise.reject(new Error("gone")) });
  const { outcome, id } = await ask(server);
  const answer = (option: string) => server.service.answer(to, id, { option }, by, "pico");
  await expect(answer("allow")).resolves.toMatchObject({ status: "settled" });
  await expect(answer("deny")).resolves.toMatchObject({ settled: { option: "allow" } });
  await expect(outcome).resolves.toMatchObject({ effect: "allow" });
  expect(server.lines.some(({ text }) => text.includes("could not be shown"))).toBe(true);
});
