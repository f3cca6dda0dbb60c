// Cases about interrupted streams and stops.
import { expect } from "vitest";
import { startCutter } from "../../../support/cutter.ts";
import { authorization, textOf, type UiPart } from "./harness.ts";
import type { Case, Context } from "./reply-cases.ts";

/** Sends a message, and waits for the begin of its reply. */
async function begin({ chat, service, control }: Context, options?: object) {
  const before = service.received.length;
  const created = chat(options);
  const sent = created.sendMessage({ text: "hi" });
  await expect.poll(() => service.received.length).toBe(before + 1);
  control.write("Hello");
  await expect.poll(() => textOf(created)).toBe("Hello");
  return { created, sent };
}

const get = ({ service, id }: Context, address: string, method = "GET"): Promise<Response> =>
  fetch(`${service.base}/chat/${encodeURIComponent(id)}/${address}`, {
    method,
    headers: authorization,
  });
const stop = async (context: Context, body?: object): Promise<unknown> => {
  const response = await fetch(
    `${context.service.base}/chat/${encodeURIComponent(context.id)}/stop`,
    {
      method: "POST",
      headers: { ...authorization, ...(body && { "Content-Type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    },
  );
  return response.json();
};

export const resumeCases: readonly Case[] = [
  [
    "resumes a running reply after a cut: same text, same id",
    "growing",
    async (context) => {
      const { control } = context;
      await using cutter = await startCutter(context.service.base);
      const { created, sent } = await begin(context, { base: cutter.base });
      const { id } = created.messages.at(-1)!;
      cutter.cut();
      await sent;
      expect(created.status).toBe("error");
      control.write(" there");
      const resumed = created.resumeStream();
      await expect.poll(() => textOf(created)).toBe("Hello there");
      control.end();
      await resumed;
      expect([created.status, created.messages.length]).toEqual(["ready", 2]);
      expect(created.messages.at(-1)!.id).toBe(id);
    },
  ],
  [
    "receives 204 if there is nothing to resume",
    "growing",
    async (context) => {
      expect((await get(context, "stream")).status).toBe(204);
      const created = context.chat();
      await created.resumeStream();
      expect([created.status, created.messages]).toEqual(["ready", []]);
    },
  ],
  [
    "receives an end that no page has seen",
    "growing",
    async (context) => {
      const { control } = context;
      await using cutter = await startCutter(context.service.base);
      const { created, sent } = await begin(context, { base: cutter.base });
      cutter.cut();
      await sent;
      control.write(" there");
      control.end();
      await created.resumeStream();
      expect([created.status, textOf(created)]).toEqual(["ready", "Hello there"]);
      expect(created.messages).toHaveLength(2);
    },
  ],
  [
    "resumes on two pages, one of them without messages",
    "growing",
    async (context) => {
      const { control } = context;
      const { created, sent } = await begin(context);
      const others = [context.chat(), context.chat()];
      const resumed = others.map((other) => other.resumeStream());
      for (const other of others) await expect.poll(() => textOf(other)).toBe("Hello");
      control.write("!");
      control.end();
      await Promise.all([sent, ...resumed]);
      const ids = [created, ...others].map((each) => each.messages.at(-1)!.id);
      expect(new Set(ids).size).toBe(1);
      for (const other of others) expect(textOf(other)).toBe("Hello!");
    },
  ],
  [
    "stops by the address: the text stays, and nothing is resumed",
    "growing",
    async (context) => {
      const ends: boolean[] = [];
      const onFinish = ({ isAbort }: { isAbort: boolean }): void => void ends.push(isAbort);
      const { created, sent } = await begin(context, { onFinish });
      const { id } = created.messages.at(-1)!;
      const stopped = [{ id, status: "stopping" }];
      expect(await stop(context, { activeStreamId: "m-stale" })).toMatchObject({ stopped: [] });
      expect(await stop(context, { activeStreamId: id })).toEqual({ success: true, stopped });
      await sent;
      expect([created.status, textOf(created)]).toEqual(["ready", "Hello"]);
      expect((await get(context, "stream")).status).toBe(204);
      expect(await stop(context)).toEqual({ success: true, stopped: [] });
    },
  ],
  [
    "does not stop the reply by closing its connection",
    "growing",
    async (context) => {
      const { control } = context;
      const { created, sent } = await begin(context);
      await created.stop();
      await sent;
      const resumed = created.resumeStream();
      control.write(" there");
      control.end();
      await resumed;
      expect(textOf(created)).toBe("Hello there");
    },
  ],
  [
    "receives equal bytes over 20 cuts in 4,000 deltas",
    "growing",
    async (context) => {
      const { control } = context;
      await using cutter = await startCutter(context.service.base);
      const { created, sent } = await begin(context, { base: cutter.base });
      let current = sent;
      let text = "Hello";
      for (let step = 1; step <= 4_000; step += 1) {
        const delta = step % 7 === 0 ? "😀é\n" : `<${step}>`;
        control.write(delta);
        text += delta;
        if (step % 190 !== 0 || step / 190 > 20) continue;
        const length = textOf(created).length;
        await expect.poll(() => textOf(created).length).toBeGreaterThan(length);
        cutter.cut();
        await current;
        expect(created.status).toBe("error");
        current = created.resumeStream();
        await expect.poll(() => textOf(created).length).toBeGreaterThanOrEqual(length);
      }
      control.end();
      await current;
      expect([created.status, textOf(created)]).toEqual(["ready", text]);
      expect(created.messages).toHaveLength(2);
    },
  ],
  [
    "receives replaced text in a further part, and only that after a cut",
    "growing",
    async (context) => {
      const { control } = context;
      const data: UiPart[] = [];
      const onData = (part: UiPart): void => void data.push(part);
      const { created, sent } = await begin(context, { onData });
      control.replace("Right");
      await expect.poll(() => textOf(created)).toBe("HelloRight");
      control.write("!");
      const other = context.chat();
      const resumed = other.resumeStream();
      await expect.poll(() => textOf(other)).toBe("Right!");
      control.end();
      await Promise.all([sent, resumed]);
      expect([textOf(created), textOf(other)]).toEqual(["HelloRight!", "Right!"]);
      expect(data).toMatchObject([
        { type: "data-doorward-replaced", data: { by: expect.stringMatching(/:1$/) } },
      ]);
    },
  ],
];
