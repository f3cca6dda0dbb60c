// Stops the kernel during answers, over every form of the store, and starts it again.
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { AnyPlugin } from "../../../kernel/index.ts";
import type { Application } from "../../../plugins/channels/index.ts";
import type { Turn } from "../../../plugins/conversations/index.ts";
import { program } from "../../../plugins/program/index.ts";
import { send } from "../../support/extension-clients.ts";
import { waitFor } from "../../support/pico-server-harness.ts";
import { createFolder } from "../../support/sqlite-store.ts";
import {
  app,
  createRestarts,
  durableForms,
  framesOf,
  storeForms,
  type StoreNode,
} from "../../support/store-servers.ts";

const forms = storeForms.filter((form) => form !== "another node");
const isDurable = (form: string): boolean => (durableForms as readonly string[]).includes(form);

/** Writes a text, then waits until it is aborted. `after` runs then. */
const growing =
  (after: (message: Parameters<Application>[0]) => unknown = () => undefined): Application =>
  async (message) => {
    message.stream().write("so far");
    await new Promise<void>((done) => message.signal.addEventListener("abort", () => done()));
    await after(message);
  };

/** Never returns. */
const endless: Application = async (message) => {
  message.stream().write("so far");
  await new Promise(() => undefined);
};

const script = (body: string): string => `
  const write = (type, payload) => console.log(JSON.stringify({ type, payload }));
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    const { id } = JSON.parse(line);
    ${body}
  });`;
const createLine =
  'write("message.create", { request_id: id, message_id: id, content: "so far", final: false });';

function programOf(body: string): AnyPlugin {
  const file = join(createFolder(), "agent.cjs");
  writeFileSync(file, script(body));
  const env = { PATH: process.env["PATH"] ?? "" };
  return program({ command: [process.execPath, file], env }) as unknown as AnyPlugin;
}

/** Sends a message, waits for the first text of its answer, and stops the server. */
async function stopDuringAnswer(node: StoreNode) {
  const ended: unknown[] = [];
  node.on("channels:answer-ended", ({ outcome, code }) => void ended.push({ outcome, code }));
  const client = await node.join();
  client.send(send("m1", "text m1"));
  await framesOf(client, "message.create");
  await node.stop();
  await client.closed;
  return { ended, frames: client.frames };
}

const turnsOf = async ({ services }: StoreNode): Promise<readonly Turn[]> =>
  (await services.channels.history({ channel: "pico", session: "s" })).items;
const brief = ({ role, content, complete, outcome, code }: Turn) => ({
  role,
  content,
  ...(complete === false && { complete }),
  ...(outcome && { outcome }),
  ...(code && { code }),
});
const asked = { role: "user", content: "text m1" };
const stopped = { outcome: "stopped", code: "not_running" };
const cut = {
  role: "assistant",
  content: "so far",
  complete: false,
  ...stopped,
};
const whole = { role: "assistant", content: "whole" };

/** Sends the same message to the next server, and waits for its acknowledgement. */
async function repeat(node: StoreNode): Promise<string> {
  const client = await node.join();
  client.send(send("m1", "text m1"));
  const [ack] = await framesOf(client, "message.ack");
  return String(ack!.payload!["status"]);
}

const applications = {
  "an application that never returns": () => app(endless),
  "an application that fails": () =>
    app(
      growing(() => {
        throw new Error("aborted");
      }),
    ),
  "a program": () => programOf(createLine),
} as const;

describe.each(forms)("a stop of the kernel (%s)", (form) => {
  describe.each(Object.entries(applications))("with %s", (_, createApp) => {
    test("ends a cut answer as stopped and keeps it incomplete", async () => {
      const start = await createRestarts(form);
      const { ended, frames } = await stopDuringAnswer(await start(createApp()));
      expect(ended).toEqual([{ outcome: "stopped", code: "not_running" }]);
      const end = frames.find(({ type }) => type === "answer.end");
      expect(end?.payload).toMatchObject({ outcome: "stopped", code: "not_running" });
      expect(frames.find(({ type }) => type === "error")?.payload).toMatchObject({ code: "busy" });
      expect(frames.filter(({ payload }) => payload?.["final"] === true)).toEqual([]);
      if (isDurable(form))
        expect((await turnsOf(await start(createApp()))).map(brief)).toEqual([
          { ...asked, ...stopped },
          cut,
        ]);
    });

    test.runIf(isDurable(form))("replaces the first run of a repeated message", async () => {
      const start = await createRestarts(form);
      await stopDuringAnswer(await start(createApp()));
      const seen: unknown[] = [];
      const next = await start(
        app(async (message) => {
          seen.push((await message.history()).items, (await turnsOf(next)).map(brief));
          await message.reply({ content: "whole" });
        }),
      );
      expect(await repeat(next)).toBe("accepted");
      expect(seen).toEqual([[], [asked]]);
      expect((await turnsOf(next)).map(brief)).toEqual([{ ...asked, outcome: "completed" }, whole]);
      expect(await repeat(next)).toBe("duplicate");
    });
  });

  test("accepts the message of a handler that returns in time", async () => {
    const start = await createRestarts(form);
    const { ended, frames } = await stopDuringAnswer(await start(app(growing())));
    expect(ended).toEqual([{ outcome: "stopped", code: "not_running" }]);
    expect(frames.find(({ type }) => type === "message.ack")?.payload).toMatchObject({
      request_id: "m1",
      status: "accepted",
    });
    if (!isDurable(form)) return;
    const next = await start(app(({ reply }) => void reply({ content: "whole" })));
    expect(await repeat(next)).toBe("duplicate");
    expect((await turnsOf(next)).map(brief)).toEqual([{ ...asked, ...stopped }, cut]);
  });

  test("keeps an answer complete that the handler ends in time", async () => {
    const start = await createRestarts(form);
    const handler: Application = async (message) => {
      message.accept();
      await message.reply({ kind: "thought", content: "so far" });
      await new Promise<void>((done) => message.signal.addEventListener("abort", () => done()));
      await message.reply({ content: "whole" });
    };
    const { ended } = await stopDuringAnswer(await start(app(handler)));
    expect(ended).toEqual([{ outcome: "completed", code: undefined }]);
    if (!isDurable(form)) return;
    const turns = await turnsOf(await start(app(() => undefined)));
    expect(turns.map(brief).at(-1)).toEqual(whole);
  });

  test("rejects messages that wait", async () => {
    const start = await createRestarts(form);
    const node = await start(app(endless));
    const client = await node.join();
    client.send(send("m1", "text m1"));
    client.send(send("m2", "text m2"));
    await framesOf(client, "message.create");
    await node.stop();
    await client.closed;
    const errors = client.frames.filter(({ type }) => type === "error");
    expect(errors.map(({ payload }) => payload!["request_id"]).toSorted()).toEqual(["m1", "m2"]);
    if (!isDurable(form)) return;
    const received: string[] = [];
    const next = await start(app(({ id }) => void received.push(id)));
    const again = await next.join();
    again.send(send("m1", "text m1"));
    again.send(send("m2", "text m2"));
    await framesOf(again, "message.ack", 2);
    await waitFor(() => received.length === 2);
    expect((await turnsOf(next)).map(({ content }) => content)).toEqual(["text m1", "text m2"]);
  });
});
