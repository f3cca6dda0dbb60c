import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import {
  createLink,
  limits,
  type SocketListener,
  type ChatStateChange,
  type ChatMessage,
  type ChatReceipt,
} from "../../../lib/pico-link/index.ts";
import { encode, type ServerFrame } from "../../../lib/pico-wire/index.ts";
import { turn } from "../../support/sample-plugins.ts";
import { hello as createHelloFrame } from "./step-player.ts";

/**
 * A link whose clock jumps. As in a busy process, timers run first then, and sockets after them.
 */
function testServer() {
  const clock = createStoppedClock();
  const [changes, answers, receipts]: [ChatStateChange[], ChatMessage[], ChatReceipt[]] = [
    [],
    [],
    [],
  ];
  let socketListener!: SocketListener;
  const link = createLink({
    url: "ws://there/pico",
    sessionId: "s",
    token: "t",
    clock,
    random: () => 0.5,
    newId: () => "m1",
    dial: (_, own) => {
      socketListener = own;
      return { write: () => undefined, buffered: () => 0, close: () => undefined };
    },
    onState: (change) => void changes.push(change),
    onMessage: (message) => void answers.push(message),
  });
  const frame = (what: ServerFrame): void =>
    socketListener({ type: "message", data: encode(what) });
  async function dialled(): Promise<void> {
    link.start();
    await turn();
  }
  return {
    clock,
    answers,
    receipts,
    frame,
    states: () => changes.map(({ to }) => to),
    hear: (...news: Parameters<SocketListener>) => socketListener(...news),
    dialled,
    async opened() {
      await dialled();
      socketListener({ type: "opened" });
    },
    send: () => void link.send("hello").accepted.then((receipt) => receipts.push(receipt)),
  };
}

const hello = createHelloFrame({ window: { frames: 8, bytes: 1, ttl_s: 300 } });
const acknowledged: ServerFrame = {
  type: "message.ack",
  payload: { request_id: "m1", status: "accepted" },
};

describe("createLink after a busy period", () => {
  test("reads a waiting hello before it assumes a plain server", async () => {
    const { clock, opened, send, frame, receipts } = testServer();
    await opened();
    send();
    clock.increment(limits.helloTimeoutMs + 1_000);
    frame(hello);
    clock.increment(limits.helloTimeoutMs);
    await turn();
    expect(receipts).toEqual([]);
    frame(acknowledged);
    await turn();
    expect(receipts).toEqual([{ id: "m1", status: "delivered" }]);
  });

  test("does not complete a message whose next part is waiting", async () => {
    const { clock, opened, frame, answers } = testServer();
    await opened();
    frame({ type: "message.create", payload: { message_id: "1", content: "He" } });
    clock.increment(limits.messageIdleMs + 1_000);
    frame({ type: "message.update", payload: { message_id: "1", content: "Hello" } });
    clock.increment(limits.messageIdleMs);
    expect(answers.map(({ content }) => content)).toEqual(["Hello"]);
  });

  test("keeps a handshake and a server that have responded", async () => {
    const { clock, dialled, hear, frame, states } = testServer();
    await dialled();
    clock.increment(limits.connectTimeoutMs + 1_000);
    hear({ type: "opened" });
    frame(hello);
    for (let second = 0; second < 59; second += 1) clock.increment(1_000);
    clock.increment(2_000);
    frame({ type: "pong" });
    clock.increment(1_000);
    expect(states()).toEqual(["connecting", "open"]);
  });

  test("closes soon after if nothing has arrived", async () => {
    const { clock, dialled, states } = testServer();
    await dialled();
    clock.increment(limits.connectTimeoutMs + 1_000);
    expect(states()).toEqual(["connecting"]);
    clock.increment(100);
    expect(states()).toEqual(["connecting", "waiting"]);
  });
});
