import { describe, expect, test } from "vitest";
import { gate } from "../../../support/sample-channel.ts";
import { stand, until, type Stand } from "../../../support/pico-server-harness.ts";

/**
 * A client that does not read and whose send queue has no room for the replay of the session
 * "stored".
 */
async function nearlyFull(door: Stand) {
  const peer = await door.connect("/pico?session_id=s1");
  peer.ws.pause();
  await door.fill("s1", 4_000_000);
  for (let n = 0; n < 5; n++) await door.say("stored", "x".repeat(100_000));
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
    await using door = await stand({ app: ({ session }) => void received.push(session) });
    const peer = await nearlyFull(door);
    peer.send(messageTo("stored", 1));
    expect(await door.fact("pico-server:disconnected")).toMatchObject({ code: 4410 });
    expect(received).toEqual([]);
    expect(door.lines.filter(({ level }) => level === "error")).toEqual([]);
  });

  test("closes it for a frame that waited for the application too", async () => {
    const { opened, open } = gate();
    const received: string[] = [];
    await using door = await stand({
      app: ({ session }) => {
        received.push(session);
        return opened;
      },
    });
    const peer = await nearlyFull(door);
    for (let n = 0; n < 32; n++) peer.send(messageTo(`s${n}`, n));
    peer.send(messageTo("stored", 32));
    await until(() => received.length === 32);
    open();
    expect(await door.fact("pico-server:disconnected")).toMatchObject({ code: 4410 });
    expect(received).not.toContain("stored");
  });
});
