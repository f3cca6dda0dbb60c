import { describe, expect, test } from "vitest";
import { createStrikeCounter } from "../../../../plugins/pico-server/connection/rate-limit.ts";
import {
  startPicoServer,
  waitFor,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";

const day = 86_400_000;

/**
 * Connects and disconnects a client of the extension. The returned function reconnects it with its
 * cursor and tells if it resumed.
 */
async function visit(testServer: PicoTestServer, session: string): Promise<() => Promise<unknown>> {
  const path = `/pico?session_id=${session}&pico_ext=1`;
  const peer = await testServer.connect(path);
  const { payload = {} } = await peer.next();
  const eventCount = testServer.facts.length;
  peer.ws.terminate();
  await waitFor(() =>
    testServer.facts.slice(eventCount).some(({ type }) => type === "pico-server:disconnected"),
  );
  return async () => {
    const again = await testServer.connect(`${path}&resume=${String(payload["epoch"])}:0`);
    return (await again.next()).payload?.["resumed"];
  };
}

describe("system clock changes", () => {
  test("keep streams for the full retention time after moving forward", async () => {
    await using testServer = await startPicoServer();
    await visit(testServer, "one");
    testServer.clock.increment(299_000);
    const back = await visit(testServer, "two");
    testServer.setBack(-day);
    testServer.clock.increment(1_000);
    expect(await back()).toBe(true);
  });

  test("end streams on time after moving back", async () => {
    await using testServer = await startPicoServer();
    const back = await visit(testServer, "one");
    testServer.setBack(2 * day);
    testServer.clock.increment(300_000);
    expect(await back()).toBe(false);
  });

  test("keep repeated messages deduplicated after moving forward", async () => {
    const received: string[] = [];
    await using testServer = await startPicoServer({ app: ({ id }) => void received.push(id) });
    for (const status of ["accepted", "duplicate"]) {
      const peer = await testServer.connect("/pico?session_id=s&pico_ext=1");
      peer.send({ type: "message.send", id: "a", payload: { content: "hello" } });
      await waitFor(() => peer.frames.some(({ payload }) => payload?.["status"] === status));
      testServer.setBack(-day);
    }
    expect(received).toEqual(["a"]);
  });

  test("discard earlier strikes after moving back", () => {
    const isTooMuch = createStrikeCounter(3, 60_000);
    expect([isTooMuch(1_000), isTooMuch(2_000)]).toEqual([false, false]);
    expect([isTooMuch(500), isTooMuch(600), isTooMuch(700)]).toEqual([false, false, true]);
  });
});
