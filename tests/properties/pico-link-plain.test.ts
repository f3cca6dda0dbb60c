import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createLink, type Dial, type ChatMessage } from "../../lib/pico-link/index.ts";
import { encode, type ServerFrame } from "../../lib/pico-wire/index.ts";
import { createRandom, createTime } from "./pico-time.ts";
import { runs } from "../support/runs.ts";

/* A server without the extension, as a model: it never says `hello` and compares no ids. */

interface Options {
  readonly seed: number;
  /** Upper bound of the life of a connection, milliseconds. */
  readonly lifeMs: number;
  /** Whether it sends anything when it receives a message. */
  readonly answers: boolean;
  /** Upper bound of the time a message stays in the socket buffer of the client, milliseconds. */
  readonly bufferMs: number;
}

/** Resolves the model: `received` holds the ids that arrived, one list for each connection. */
function plainServer({ seed, lifeMs, answers, bufferMs }: Options) {
  const time = createTime();
  const random = createRandom(seed);
  const received: string[][] = [];
  let say: (frame: ServerFrame) => void = () => undefined;
  let isStable = false;
  const upTo = (ms: number): number => Math.floor(random() * ms);

  const dial: Dial = (_, hear) => {
    const arrived: string[] = [];
    let isOpen = false;
    let buffered = 0;
    const end = (): void => {
      if (!isOpen) return;
      isOpen = false;
      hear({ type: "closed", code: 1006, reason: "" });
    };
    const tell = (frame: ServerFrame): void => {
      if (isOpen) hear({ type: "message", data: encode(frame) });
    };
    time.after(5 + upTo(20), () => {
      isOpen = true;
      received.push(arrived);
      say = tell;
      hear({ type: "opened" });
      if (!isStable) time.after(1 + upTo(lifeMs), end);
    });
    return {
      write(text) {
        const { type, id } = JSON.parse(text) as { type: string; id: string };
        if (type !== "message.send") return;
        buffered += 1;
        time.after(upTo(bufferMs), () => {
          buffered -= 1;
          if (!isOpen) return;
          arrived.push(id);
          if (answers) time.after(1, () => tell({ type: "typing.start" }));
        });
      },
      buffered: () => buffered,
      close: () => void (isOpen = false),
    };
  };
  return {
    time,
    random,
    dial,
    received,
    say: (frame: ServerFrame) => say(frame),
    stabilise: () => void (isStable = true),
  };
}

const link = (
  { time, random, dial }: ReturnType<typeof plainServer>,
  rest: { onMessage?: (m: ChatMessage) => void; onUpdate?: (m: ChatMessage) => void } = {},
) =>
  createLink({
    url: "ws://server/pico",
    token: "token",
    sessionId: "s",
    dial,
    clock: time,
    random,
    newId: () => "unused",
    ...rest,
  });

describe("createLink on a server without the extension", () => {
  test("repeats at most the last unconfirmed message of a short connection", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          seed: fc.integer(),
          lifeMs: fc.constantFrom(50, 400, 1_500, 4_000),
          answers: fc.boolean(),
          bufferMs: fc.constantFrom(1, 15, 60),
        }),
        fc.array(fc.tuple(fc.nat(900), fc.integer({ min: 1, max: 9 })), { maxLength: 40 }),
        async (options, sends) => {
          const server = plainServer(options);
          const client = link(server);
          const sent: string[] = [];
          const written: string[] = [];
          client.start();
          for (const [afterMs, count] of sends) {
            await server.time.pass(afterMs);
            for (let n = 0; n < count; n++) {
              const id = `n${sent.length + 1}`;
              sent.push(id);
              void client.send({ id, content: id }).accepted.then(
                () => void written.push(id),
                () => undefined,
              );
            }
          }
          server.stabilise();
          await server.time.pass(120_000);
          const all = server.received.flat();
          expect(written).toEqual(sent);
          expect([...new Set(all)]).toEqual(sent);
          for (const [at, ids] of server.received.entries()) {
            const before = server.received.slice(0, at).flat();
            const repeated = ids.filter((id) => before.includes(id));
            expect(repeated.filter((id) => id !== before.at(-1))).toEqual([]);
            expect(new Set(ids).size).toBe(ids.length);
          }
          client.close();
        },
      ),
      { numRuns: runs(60) },
    );
  });

  test.each([true, false])(
    "repeats few messages over short links (answers: %s)",
    async (answers) => {
      await fc.assert(
        fc.asyncProperty(fc.integer(), async (seed) => {
          const server = plainServer({ seed, lifeMs: 600, answers, bufferMs: 1 });
          const client = link(server);
          client.start();
          for (let n = 1; n <= 150; n++) {
            void client.send({ id: `n${n}`, content: "" }).accepted.catch(() => undefined);
            await server.time.pass(200);
          }
          server.stabilise();
          await server.time.pass(60_000);
          const all = server.received.flat();
          expect(new Set(all).size).toBe(150);
          expect(all.length).toBeLessThanOrEqual(165);
          client.close();
        }),
        { numRuns: runs(20) },
      );
    },
  );
});

describe("replies of a server without the extension", () => {
  const part = fc.record({
    message: fc.constantFrom("a", "b", "c"),
    afterMs: fc.nat(29_000),
    stops: fc.boolean(),
  });

  test("reach onMessage once, complete unless marked as assumed", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.array(part, { maxLength: 30 }), async (seed, parts) => {
        const server = plainServer({ seed, lifeMs: 1, answers: true, bufferMs: 1 });
        server.stabilise();
        const messages: ChatMessage[] = [];
        const updates: ChatMessage[] = [];
        const client = link(server, {
          onMessage: (message) => void messages.push(message),
          onUpdate: (message) => void updates.push(message),
        });
        client.start();
        await server.time.pass(5_000);
        const texts = new Map<string, string>();
        // The messages follow each other; each begins once and grows.
        const ordered = ["a", "b", "c"].flatMap((id) => parts.filter((p) => p.message === id));
        for (const { message, afterMs } of ordered) {
          await server.time.pass(afterMs);
          const content = `${texts.get(message) ?? ""}x`;
          const type = texts.has(message) ? "message.update" : "message.create";
          texts.set(message, content);
          server.say({ type, payload: { message_id: message, content } });
        }
        if (ordered.at(-1)?.stops) server.say({ type: "typing.stop" });
        await server.time.pass(60_000);
        expect(messages.map(({ id, content }) => [id, content])).toEqual([...texts]);
        const last = ordered.at(-1);
        expect(messages.filter(({ assumed }) => assumed).map(({ id }) => id)).toEqual(
          last && !last.stops ? [last.message] : [],
        );
        expect(updates.filter(({ final }) => final).length).toBe(messages.length);
        client.close();
      }),
      { numRuns: runs(60) },
    );
  });
});
