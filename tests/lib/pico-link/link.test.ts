import { describe, expect, test } from "vitest";
import { createStoppedClock } from "../../../kernel/testing.ts";
import {
  createLink,
  type SocketListener,
  type ChatStateChange,
} from "../../../lib/pico-link/index.ts";
import { turn } from "../../support/sample-plugins.ts";

/** A link with scripted sockets. `setBack` sets the clock back but not its timers. */
function server() {
  const clock = createStoppedClock();
  const changes: ChatStateChange[] = [];
  const dialled: SocketListener[] = [];
  let behind = 0;
  const link = createLink({
    url: "ws://there/pico",
    sessionId: "s",
    token: "t",
    random: () => 0.5,
    newId: () => "made",
    clock: {
      now: () => clock.now() - behind,
      setTimeout: (run, ms) => clock.setTimeout(run, ms),
      clearTimeout: (id) => clock.clearTimeout(id),
    },
    dial: (_, socketListener) => {
      dialled.push(socketListener);
      return { write: () => undefined, buffered: () => 0, close: () => undefined };
    },
    onState: (change) => void changes.push(change),
  });
  const setBack = (ms: number): void => void (behind += ms);
  return {
    link,
    clock,
    changes,
    setBack,
    dialled,
    socket: (...news: Parameters<SocketListener>) => dialled.at(-1)!(...news),
  };
}

describe("createLink", () => {
  test("returns the id of a message before it is sent", async () => {
    const { link } = server();
    link.start();
    const { id, accepted } = link.send({ id: "own", content: "hello" });
    expect(id).toBe("own");
    const stopped = expect(accepted).rejects.toMatchObject({ code: "stopped" });
    await expect(link.stop(id)).resolves.toEqual([{ requestId: id, status: "removed" }]);
    await stopped;
  });

  test("joins a repeated message and rejects a reused id", async () => {
    const { link, socket } = server();
    link.start();
    await turn();
    socket({ type: "opened" });
    const hello = { conn_id: "c", session_id: "s", epoch: "e" };
    socket({ type: "message", data: JSON.stringify({ type: "hello", payload: hello }) });
    const first = link.send({ id: "a", content: "hello" }).accepted;
    const same = link.send({ id: "a", content: "hello" }).accepted;
    await expect(link.send({ id: "a", content: "other" }).accepted).rejects.toMatchObject({
      name: "ChatError",
      code: "id_reused",
    });
    const acknowledge = () =>
      socket({
        type: "message",
        data: JSON.stringify({
          type: "message.ack",
          payload: { request_id: "a", status: "accepted" },
        }),
      });
    acknowledge();
    const delivered = { id: "a", status: "delivered" };
    await expect(Promise.all([first, same])).resolves.toEqual([delivered, delivered]);
    const again = link.send({ id: "a", content: "hello" }).accepted;
    acknowledge();
    await expect(again).resolves.toEqual(delivered);
  });

  test("delays nothing when the clock is set back", async () => {
    const { link, clock, changes, setBack, dialled, socket } = server();
    link.start();
    await turn();
    const sent = link.send("hello").accepted;
    socket({ type: "failed" });
    const { retryInMs = 0 } = changes.at(-1)!;
    setBack(86_400_000);
    clock.increment(retryInMs);
    await turn();
    expect(dialled).toHaveLength(2);
    setBack(86_400_000);
    clock.increment(20_000);
    expect(changes.at(-1)).toMatchObject({ to: "waiting", reason: "timeout" });
    const failed = expect(sent).rejects.toMatchObject({ code: "expired" });
    for (let second = 0; second < 300; second++) clock.increment(1_000);
    await failed;
    link.close();
  });
});
