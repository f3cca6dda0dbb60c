import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createKernel, type Plugin } from "../../../kernel/index.ts";
import { createCapturedLog } from "../../../kernel/testing.ts";
import { channels, type Channels } from "../../../plugins/channels/index.ts";
import { conversations } from "../../../plugins/conversations/index.ts";
import { createHistoryLines } from "../../../plugins/program/history.ts";
import { program } from "../../../plugins/program/index.ts";
import { createSampleChannel } from "../../support/sample-channel.ts";
import { createHistory, storeIn } from "../../support/sqlite-conversations.ts";
import { entry, epoch } from "../../support/sqlite-store.ts";

/** Sends `request` for each message, and replies with the line that it receives. */
const script = (request: string) => `
const say = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
let message;
require("node:readline").createInterface({ input: process.stdin }).on("line", (text) => {
  const line = JSON.parse(text);
  if (line.type === "message.send") return (message = line), say(${request});
  say({ type: "message.create", payload: { request_id: message.id, content: text } });
});`;

/** @returns The line that the program receives as the answer to its request. */
async function answerTo(request: string): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "doorward-history-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await writeFile(join(folder, "agent.cjs"), script(request));
  const address = { channel: "sample", session: "s" };
  const history = await createHistory(
    entry("user", "q", "one", address),
    entry("create", "a", "two", address),
  );
  const channel = createSampleChannel();
  const command = [process.execPath, join(folder, "agent.cjs")] as const;
  const env = { PATH: process.env["PATH"] ?? "" };
  const kernel = createKernel(
    [
      conversations({ store: storeIn(history) }) as unknown as Plugin,
      channels(),
      channel.plugin,
      program({ command, env }),
    ],
    { log: createCapturedLog().log },
  );
  await kernel.start();
  await channel.inlet().deliver(channel.message({ content: "hello" }));
  const { content } = channel.sent[0]!.message!;
  await kernel.stop();
  return JSON.parse(content);
}

describe("history.get", () => {
  test("returns the turns of the session of a message", async () => {
    const request = '{ type: "history.get", id: "h1", payload: { request_id: line.id, limit: 1 } }';
    expect(await answerTo(request)).toEqual({
      type: "history",
      id: "h1",
      channel: "sample",
      session_id: "s",
      payload: {
        turns: [expect.objectContaining({ id: "a", role: "assistant", content: "two" })],
        before: `${epoch}:2`,
      },
    });
  });

  test("reads any session that the line names", async () => {
    const request = `{ type: "history.get", channel: "sample", session_id: "s",
      payload: { before: "${epoch}:2" } }`;
    const answer = await answerTo(request);
    expect(answer).toMatchObject({ type: "history", payload: { turns: [{ content: "one" }] } });
  });

  test("returns an error if the line names no session", async () => {
    expect(await answerTo('{ type: "history.get", id: "h1" }')).toMatchObject({
      type: "error",
      id: "h1",
      payload: { code: "not_found" },
    });
  });
});

describe("createHistoryLines", () => {
  /** A program with this state of its input, and a store that never responds. */
  function blocked(isBlocked: boolean) {
    const written: string[] = [];
    const { log, lines } = createCapturedLog();
    const never = (): ReturnType<Channels["history"]> => new Promise(() => undefined);
    const answer = createHistoryLines({
      channels: { history: never },
      pendingMessages: {
        addressIn: () => ({ channel: "pico", session: "s" }),
        isLive: () => false,
        isBlocked: () => isBlocked,
        writeLine: (line) => void written.push(line),
      },
      log,
    });
    const get = () => answer({ type: "history.get", session_id: "s", payload: {} });
    return { get, written, lines };
  }

  test("rejects more than 16 requests in progress", async () => {
    const { get, written } = blocked(false);
    for (let n = 0; n < 16; n++) void get();
    await get();
    expect(written.map((line) => JSON.parse(line))).toMatchObject([{ payload: { code: "busy" } }]);
  });

  test("writes nothing to a program that does not read", async () => {
    const { get, written, lines } = blocked(true);
    await get();
    expect([written.length, lines.length]).toEqual([0, 1]);
  });
});
