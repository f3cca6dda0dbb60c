import { expect, test } from "vitest";
import { gate } from "../../../support/sample-channel.ts";
import { stand, until, type Stand } from "../../../support/pico-server-harness.ts";

/** A client that does not read, for whom so much waits that what a session holds is too much. */
async function nearlyFull(door: Stand) {
  const peer = await door.connect("/pico?session_id=s1");
  peer.ws.pause();
  await door.fill("s1", 4_000_000);
  for (let n = 0; n < 5; n++) await door.say("held", "x".repeat(100_000));
  return peer;
}
const naming = (session: string, id: number) => ({
  type: "message.send",
  id: `${id}`,
  session_id: session,
  payload: { content: "hello" },
});

test("naming a session that holds too much for a slow client ends it as slow, and nothing else happens", async () => {
  const taken: string[] = [];
  await using door = await stand({ app: ({ session }) => void taken.push(session) });
  const peer = await nearlyFull(door);
  peer.send(naming("held", 1));
  expect(await door.fact("pico-server:disconnected")).toMatchObject({ code: 4410 });
  expect(taken).toEqual([]);
  expect(door.lines.filter(({ level }) => level === "error")).toEqual([]);
});

test("so does a frame that waited until the application was ready for it", async () => {
  const { opened, open } = gate();
  const taken: string[] = [];
  await using door = await stand({
    app: ({ session }) => {
      taken.push(session);
      return opened;
    },
  });
  const peer = await nearlyFull(door);
  for (let n = 0; n < 32; n++) peer.send(naming(`s${n}`, n));
  peer.send(naming("held", 32));
  await until(() => taken.length === 32);
  open();
  expect(await door.fact("pico-server:disconnected")).toMatchObject({ code: 4410 });
  expect(taken).not.toContain("held");
});
