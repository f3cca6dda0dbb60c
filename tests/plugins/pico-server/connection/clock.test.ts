import { describe, expect, test } from "vitest";
import { createStrikeCounter } from "../../../../plugins/pico-server/connection/rate-limit.ts";
import { stand, until, type Stand } from "../../../support/pico-server-harness.ts";

const day = 86_400_000;

/** A client of the extension was here; answers whether it could go on where it was. */
async function visit(door: Stand, session: string): Promise<() => Promise<unknown>> {
  const path = `/pico?session_id=${session}&pico_ext=1`;
  const peer = await door.connect(path);
  const { payload = {} } = await peer.next();
  const gone = door.facts.length;
  peer.ws.terminate();
  await until(() => door.facts.slice(gone).some(({ type }) => type === "pico-server:disconnected"));
  return async () => {
    const again = await door.connect(`${path}&resume=${String(payload["epoch"])}:0`);
    return (await again.next()).payload?.["resumed"];
  };
}

describe("a clock that is set", () => {
  test("forward ends no stream before its time", async () => {
    await using door = await stand();
    await visit(door, "one");
    door.clock.increment(299_000);
    const back = await visit(door, "two");
    door.setBack(-day);
    door.clock.increment(1_000);
    expect(await back()).toBe(true);
  });

  test("back keeps no stream beyond its time", async () => {
    await using door = await stand();
    const back = await visit(door, "one");
    door.setBack(2 * day);
    door.clock.increment(300_000);
    expect(await back()).toBe(false);
  });

  test("forward lets no message that is sent again through twice", async () => {
    const taken: string[] = [];
    await using door = await stand({ app: ({ id }) => void taken.push(id) });
    for (const status of ["accepted", "duplicate"]) {
      const peer = await door.connect("/pico?session_id=s&pico_ext=1");
      peer.send({ type: "message.send", id: "a", payload: { content: "hello" } });
      await until(() => peer.frames.some(({ payload }) => payload?.["status"] === status));
      door.setBack(-day);
    }
    expect(taken).toEqual(["a"]);
  });

  test("back does not count what was done before as done now", () => {
    const isTooMuch = createStrikeCounter(3, 60_000);
    expect([isTooMuch(1_000), isTooMuch(2_000)]).toEqual([false, false]);
    expect([isTooMuch(500), isTooMuch(600), isTooMuch(700)]).toEqual([false, false, true]);
  });
});
