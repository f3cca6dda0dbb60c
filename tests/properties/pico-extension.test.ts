import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Message } from "../../plugins/channels/index.ts";
import {
  connectClient,
  startPicoServer,
  waitFor,
  type Client,
  type Frame,
  type PicoTestServer,
} from "../support/pico-server-harness.ts";
import { runs } from "../support/runs.ts";

type NumberedFrame = Frame & { readonly seq?: number; readonly epoch?: string };
interface Hello {
  readonly conn_id: string;
  readonly epoch: string;
  readonly seq: number;
  readonly replay: number;
  readonly resumed: boolean;
  readonly gap: boolean;
}

/** A minimal client of the protocol. It records everything it receives for the checks. */
function modelClient(testServer: PicoTestServer, session: string) {
  let peer: Client | undefined;
  let cursor: { epoch: string; seq: number } | undefined;
  let conn = "";
  const unacknowledged = new Map<string, string>();
  const model = {
    /** Numbers of application messages, and gaps, in the order of arrival. */
    seen: [] as (
      | { readonly content: string }
      | { readonly gap: readonly [number, number] | undefined }
    )[],
    partials: new Map<string, string>(),
    accepted: new Set<string>(),
    isHere: () => peer !== undefined,
    isQuiet: () => unacknowledged.size === 0,
    cursor: () => cursor,

    async connect() {
      if (peer) return;
      const resume = cursor ? `&resume=${cursor.epoch}:${cursor.seq}&conn=${conn}` : "";
      const own = await connectClient(
        testServer.port,
        `/pico?session_id=${session}&pico_ext=1${resume}`,
      );
      peer = own;
      const take = (): void => own.frames.splice(0).forEach(read);
      own.ws.on("message", () => peer === own && take());
      take();
      for (const [id, content] of unacknowledged)
        own.send({ type: "message.send", id, payload: { content } });
    },

    /** Closes without a close frame and without reading pending data. */
    cut() {
      peer?.ws.terminate();
      peer = undefined;
    },
    /** The network has failed silently: the socket of the server stays open. */
    abandon() {
      peer?.ws.pause();
      peer = undefined;
    },
    say(id: string) {
      unacknowledged.set(id, `content of ${id}`);
      peer?.send({ type: "message.send", id, payload: { content: `content of ${id}` } });
    },
    acknowledge: () => cursor && peer?.send({ type: "ack", payload: { seq: cursor.seq } }),
  };

  function greet(hello: Hello): void {
    conn = hello.conn_id;
    if (hello.resumed) {
      expect([hello.epoch, hello.gap]).toEqual([cursor?.epoch, false]);
      expect(hello.seq - hello.replay).toBe(cursor?.seq);
      return;
    }
    if (cursor) expect(hello.gap).toBe(true);
    // Without a cursor, nothing was acknowledged. Everything arrives, or a gap from the first
    // number on.
    const begin = cursor || !hello.gap ? hello.seq - hello.replay : 0;
    if (!cursor || cursor.epoch !== hello.epoch) cursor = { epoch: hello.epoch, seq: begin };
  }

  function fall({ from, to }: { from?: number; to?: number }): void {
    if (from === undefined || to === undefined) return void model.seen.push({ gap: undefined });
    expect(from).toBe(cursor!.seq + 1);
    cursor = { ...cursor!, seq: to };
    model.seen.push({ gap: [from, to] });
  }

  function read({ type, payload = {}, seq, epoch }: NumberedFrame): void {
    if (type === "hello") return greet(payload as unknown as Hello);
    if (type === "gap") return fall(payload);
    if (type === "message.ack") {
      model.accepted.add(payload.request_id as string);
      unacknowledged.delete(payload.request_id as string);
    }
    if (!type.startsWith("message.") || type === "message.ack") return;
    if (seq === undefined)
      return void model.partials.set(payload.message_id as string, payload.content as string);
    expect({ epoch, seq }).toEqual({ epoch: cursor?.epoch, seq: cursor!.seq + 1 });
    cursor = { epoch: epoch!, seq };
    if (type === "message.delete") return; // the place of a message of the client itself
    model.seen.push({ content: payload.content as string });
  }
  return model;
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ application: fc.integer({ min: 1, max: 12 }) }) },
  { weight: 1, arbitrary: fc.record({ flood: fc.constantFrom(200, 300) }) },
  { weight: 4, arbitrary: fc.record({ client: fc.integer({ min: 1, max: 6 }) }) },
  {
    weight: 3,
    arbitrary: fc.constantFrom("cut", "abandon", "connect", "connect", "acknowledge", "settle"),
  },
  { weight: 1, arbitrary: fc.record({ away: fc.constantFrom(1_000, 299_000, 301_000) }) },
);

/** The number of messages for each of the first connections, which the client never receives. */
const lostConnections = fc.array(
  fc.oneof(fc.integer({ max: 12, min: 0 }), fc.constantFrom(200, 300)),
  { maxLength: 2 },
);

describe("pico channel with extension 1", () => {
  test("delivers exactly once and in order, or reports the gap", async () => {
    const taken: Message[] = [];
    await using testServer = await startPicoServer({
      app: (message) => void taken.push(message),
      config: { max_connections: 3, message_rate: 0, read_timeout: 86_400 },
    });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(
        lostConnections,
        fc.array(step, { minLength: 3, maxLength: 25 }),
        async (lost, steps) => {
          const session = `s${(count += 1)}`;
          const model = modelClient(testServer, session);
          const said: string[] = [];
          const sent: string[] = [];
          const settle = async (): Promise<void> => {
            await model.connect();
            await waitFor(() => model.isQuiet());
            const last = `last ${sent.length}`;
            sent.push(last);
            await testServer.say(session, last);
            await waitFor(() => model.seen.some((one) => "content" in one && one.content === last));
          };
          const speak = async (count: number): Promise<void> => {
            for (let n = 0; n < count; n++) {
              sent.push(`${sent.length}`);
              await testServer.say(session, sent.at(-1)!);
            }
          };
          for (const count of lost) {
            const nobody = await connectClient(
              testServer.port,
              `/pico?session_id=${session}&pico_ext=1`,
            );
            await speak(count);
            nobody.ws.terminate();
          }
          await model.connect();
          await waitFor(() => model.cursor());
          for (const one of steps) {
            if (one === "connect") await model.connect();
            else if (one === "settle") await settle();
            else if (typeof one === "string") model[one]();
            else if ("application" in one) await speak(one.application);
            else if ("flood" in one) await speak(one.flood);
            else if ("away" in one) {
              if (!model.isHere()) testServer.clock.increment(one.away);
            } else {
              for (let n = 0; n < one.client; n++) {
                said.push(`m${said.length}`);
                model.say(said.at(-1)!);
              }
            }
          }
          await settle();
          model.cut();

          expect(
            taken.filter((message) => message.session === session).map(({ id }) => id),
          ).toEqual(said);
          expect([...model.accepted].sort()).toEqual([...said].sort());
          // A gap also contains the numbers of the client's own messages.
          let at = 0;
          let missing = 0;
          for (const one of model.seen) {
            if ("gap" in one) {
              missing += one.gap ? one.gap[1] - one.gap[0] + 1 : Number.POSITIVE_INFINITY;
              continue;
            }
            const index = sent.indexOf(one.content, at);
            expect(index, one.content).toBeGreaterThanOrEqual(at);
            expect(index - at).toBeLessThanOrEqual(missing);
            at = index + 1;
            missing = 0;
          }
          expect(at).toBe(sent.length);
        },
      ),
      { numRuns: runs(40) },
    );
  }, 120_000);
});
