// Cuts the connection of the client while long answers grow. The clients of Python are tested in
// python/tests/test_client.py.
import { EventEmitter, once } from "node:events";
import { expect, test } from "vitest";
import { connect } from "../../lib/pico-link/client.ts";
import { createFaultProxy, createQueue } from "../../testkit/index.ts";
import { startProtocols, tokens, type Handler } from "../support/protocol-service.ts";
import { isBrief } from "../support/runs.ts";

const [answers, cuts, size] = isBrief ? [2, 2, 200] : [20, 20, 200];
// Each attempt to connect comes later than the one before, up to 30 s.
const timeout = isBrief ? 60_000 : 20 * 60_000;
const piece = (number: number): string => `${number} Grüße 👩‍👩‍👧 שלום عليكم\n`;
const textOf = (count: number): string =>
  Array.from({ length: count }, (_, n) => piece(n)).join("");
const pause = () => new Promise((done) => setImmediate(done));

test("joins the same bytes of long answers over many cuts", { timeout }, async () => {
  const done = new Map<string, number>();
  /** Emits the session of each cut. */
  const released = new EventEmitter().setMaxListeners(answers);
  /** Writes a block, and goes on when the connection was cut while the client received it. */
  const handler: Handler = async (message) => {
    const stream = message.stream();
    for (let number = 0; number < size * cuts; number += 1) {
      stream.write(piece(number));
      await pause();
      const isBlock = (number + 1) % size === 0;
      while (isBlock && (done.get(message.session) ?? 0) * size <= number)
        await once(released, message.session);
    }
    await stream.end();
  };
  await using service = await startProtocols();
  service.state.handler = handler;
  const { port } = new URL(service.origin);

  const receive = async (session: string): Promise<Buffer> => {
    await using network = await createFaultProxy({ port: Number(port) });
    let text = "";
    let opened = 0;
    const ends = createQueue<string>(timeout);
    const see = (content: string): void => {
      text = content;
      const cut = done.get(session) ?? 0;
      if (cut === cuts || content.length < textOf(size * cut + size / 2).length) return;
      done.set(session, cut + 1);
      network.cut();
      released.emit(session);
    };
    const chat = connect({
      url: network.through(`${service.origin.replace("http", "ws")}/pico`),
      token: tokens.pico,
      sessionId: session,
      onState: ({ to }) => void (opened += to === "open" ? 1 : 0),
      onMessage: ({ content }) => see(content),
      onUpdate: ({ content }) => see(content),
      onEnd: ({ outcome }) => ends.push(outcome),
    });
    await chat.send("hello").accepted;
    expect(await ends.next("the end of the answer")).toBe("completed");
    chat.close();
    expect(opened).toBeGreaterThan(cuts);
    return Buffer.from(text);
  };
  const names = Array.from({ length: answers }, (_, n) => `answer-${n}`);
  const received = await Promise.all(names.map(receive));
  const expected = Buffer.from(textOf(size * cuts));
  expect(received.map((bytes) => bytes.equals(expected))).toEqual(names.map(() => true));
});
