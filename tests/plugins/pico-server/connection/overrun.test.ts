import { describe, expect, test } from "vitest";
import { gate } from "../../../support/sample-channel.ts";
import {
  startPicoServer,
  waitFor,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";

/**
 * A client that does not read and whose send queue has no room for the replay of the session
 * "stored".
 */
async function nearlyFull(testServer: PicoTestServer) {
  const peer = await testServer.connect("/pico?session_id=s1");
  peer.ws.pause();
  await testServer.fill("s1", 4_000_000);
  for (let n = 0; n < 5; n++) await testServer.say("stored", "x".repeat(100_000));
  return peer;
}
const messageTo = (session: string, id: number) => ({
  type: "message.send",
  id: `${id}`,
  session_id: session,
  payload: { content: "hello" },
});

describe("Inbound with a full send queue", () => {
  test("closes a slow client when a replay exceeds the queue", async () => {
    const received: string[] = [];
    await using testServer = await startPicoServer({
      app: ({ session }) => void received.push(session),
    });
    const peer = await nearlyFull(testServer);
    peer.send(messageTo("stored", 1));
    expect(await testServer.fact("pico-server:disconnected")).toMatchObject({ code: 4410 });
    expect(received).toEqual([]);
    expect(testServer.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("closes it for a frame that waited for the application too", async () => {
    const { opened, open } = gate();
    const received: string[] = [];
    await using testServer = await startPicoServer({
      app: ({ session }) => {
        received.push(session);
        return opened;
      },
    });
    const peer = await nearlyFull(testServer);
    for (let n = 0; n < 32; n++) peer.send(messageTo(`s${n}`, n));
    peer.send(messageTo("stored", 32));
    await waitFor(() => received.length === 32);
    open();
    expect(await testServer.fact("pico-server:disconnected")).toMatchObject({ code: 4410 });
    expect(received).not.toContain("stored");
  });
});
