import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import {
  application,
  channels,
  type Application,
  type Message,
} from "../../../plugins/channels/index.ts";
import { http } from "../../../plugins/http/index.ts";
import { picoServer } from "../../../plugins/pico-server/index.ts";
import {
  createCapturedLog,
  connectTestClient,
  memoryTokens,
  testTokens,
} from "../../../testkit/index.ts";
import { eventually } from "./server.ts";

async function service(run: Application) {
  const { log, lines } = createCapturedLog();
  const kernel = createKernel(
    [
      memoryTokens(),
      channels(),
      http({ port: 0, host: "127.0.0.1" }),
      picoServer(),
      application(run),
    ],
    { log, config: { "channels.pico": { enabled: true } } },
  );
  await kernel.start();
  const url = new URL("pico", kernel.services.http.addresses()[0]);
  return {
    kernel,
    lines,
    join: (session: string) => connectTestClient(url, { token: testTokens.pico, session }),
    [Symbol.asyncDispose]: () => kernel.stop(),
  };
}
const numbers = (count: number): string[] => Array.from({ length: count }, (_, n) => `${n}`);

describe("faulty application", () => {
  test("blocks only its own session if it never replies", async () => {
    const aborted: string[] = [];
    const begun: string[] = [];
    await using host = await service(async ({ content, session, reply }, signal) => {
      begun.push(`${session} ${content}`);
      if (session === "stuck")
        await new Promise(() => signal.addEventListener("abort", () => aborted.push(session)));
      await reply({ content });
    });
    const [stuck, lively] = [await host.join("stuck"), await host.join("lively")];
    for (const content of numbers(100)) stuck.say(content);
    for (const content of numbers(100)) {
      lively.say(content);
      expect((await lively.next("message.create")).payload!["content"]).toBe(content);
    }
    expect(begun.filter((line) => line.startsWith("stuck"))).toEqual(["stuck 0"]);
    await host.kernel.stop({ timeoutMs: 500 });
    expect(aborted).toEqual(["stuck"]);
    expect([(await stuck.closed).code, (await lively.closed).code]).toEqual([1001, 1001]);
    // A stop rejects the messages that the application has not accepted.
    expect(new Set(stuck.waiting.map(({ type }) => type))).toEqual(new Set(["error"]));
  });

  test("reports errors to the sender and logs the reason", async () => {
    const secret = "the reason is for the owner";
    await using host = await service(({ content, reply }) => {
      if (content === "throw") throw new Error(secret);
      if (content === "reject") return Promise.reject(new Error(secret));
      if (content === "nothing") return Promise.reject(undefined as unknown as Error);
      return reply({ content }).then(() => undefined);
    });
    const peer = await host.join("s");
    for (let round = 0; round < 20; round++) {
      for (const content of ["throw", "reject", "nothing"]) {
        const id = peer.say(content, { id: `${content}-${round}` });
        const { payload } = await peer.next("error");
        expect(payload).toMatchObject({ request_id: id, code: "internal" });
        expect(JSON.stringify(payload)).not.toContain(secret);
      }
      peer.say(`${round}`);
      expect((await peer.next("message.create")).payload!["content"]).toBe(`${round}`);
    }
    const errorLines = host.lines.filter(({ level }) => level === "error");
    expect(errorLines.filter(({ err }) => String(err).includes(secret))).toHaveLength(40);
  });

  test("receives an error for a reply after the stop", async () => {
    const kept: Message[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((done) => void (release = done));
    const late: unknown[] = [];
    await using host = await service(async (message) => {
      kept.push(message);
      await held;
      await message
        .reply({ content: "too late" })
        .catch((error: { code?: string }) => late.push(error.code));
      await message
        .stream()
        .end()
        .catch((error: { code?: string }) => late.push(error.code));
    });
    const peer = await host.join("s");
    peer.say("hello");
    await eventually(() => kept.length === 1);
    await host.kernel.stop({ timeoutMs: 300 });
    expect((await peer.closed).code).toBe(1001);
    release();
    await eventually(() => late.length === 2);
    expect(late).toEqual(["not_running", "not_running"]);
    expect(peer.waiting.filter(({ type }) => type === "message.create")).toEqual([]);
  });

  test("allows a restart after messages without reply", async () => {
    let isStuck = true;
    await using host = await service(async ({ content, reply }) => {
      if (isStuck) await new Promise(() => undefined);
      await reply({ content });
    });
    const before = await host.join("s");
    before.say("1");
    await before.settled();
    await host.kernel.stop({ timeoutMs: 300 });
    isStuck = false;
    await host.kernel.start();
    const url = new URL("pico", host.kernel.services.http.addresses()[0]);
    await using after = await connectTestClient(url, { token: testTokens.pico, session: "s" });
    after.say("2");
    expect((await after.next("message.create")).payload!["content"]).toBe("2");
  });
});
