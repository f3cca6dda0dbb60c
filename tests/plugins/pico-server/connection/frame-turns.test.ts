import { describe, expect, test } from "vitest";
import { conversations } from "../../../../plugins/conversations/index.ts";
import { FrameTurns } from "../../../../plugins/pico-server/connection/frame-turns.ts";
import { countTurns } from "../../../support/event-turns.ts";
import { startPicoServer } from "../../../support/pico-server-harness.ts";
import { storeIn } from "../../../support/sqlite-conversations.ts";
import { createFolder } from "../../../support/sqlite-store.ts";

/** A source with this many frames. */
function createSource(turns: FrameTurns, frames: number, handed: () => void) {
  let left = frames;
  const source = {
    drain: () => {
      while (left > 0 && turns.take(source)) {
        left -= 1;
        handed();
      }
    },
    left: () => left,
  };
  return source;
}

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe("FrameTurns", () => {
  test("hands over at most 64 frames in a turn, of all connections", async () => {
    const counted = countTurns();
    const turns = new FrameTurns();
    const sources = Array.from({ length: 50 }, () => createSource(turns, 200, counted.count));
    for (const source of sources) source.drain();
    for (let wait = 0; wait < 400 && sources.some(({ left }) => left() > 0); wait += 1)
      await turn();
    expect(counted.end()).toEqual({ most: 64, all: 10_000 });
  });

  test("lets a connection with one frame wait for no whole queue", async () => {
    const turns = new FrameTurns();
    const many = createSource(turns, 10_000, () => undefined);
    many.drain();
    const one = createSource(turns, 1, () => undefined);
    one.drain();
    expect(one.left()).toBe(1);
    await turn();
    expect(one.left()).toBe(0);
    expect(many.left()).toBeGreaterThan(9_800);
  });

  test("forgets a connection that has left", async () => {
    const turns = new FrameTurns();
    const source = createSource(turns, 100, () => undefined);
    source.drain();
    turns.leave(source);
    await turn();
    expect(source.left()).toBe(36);
  });
});

describe("connections", () => {
  test.each(["memory", "SQLite"])("hand over at most 64 messages in a turn (%s)", async (kind) => {
    const counted = countTurns();
    const store = kind === "SQLite" ? { store: storeIn(createFolder()) } : {};
    await using server = await startPicoServer({
      first: conversations(store),
      app: () => counted.count(),
      config: { message_burst: 1_000 },
    });
    const clients = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        server.connect(`/pico?session_id=s${index}&pico_ext=1`),
      ),
    );
    for (const client of clients)
      for (let index = 0; index < 40; index += 1)
        client.send({ type: "message.send", id: `m${index}`, payload: { content: "x" } });
    for (const client of clients)
      await expect
        .poll(() => client.frames.filter(({ type }) => type === "message.ack"), { timeout: 20_000 })
        .toHaveLength(40);
    const { most, all } = counted.end();
    expect(all).toBe(800);
    expect(most).toBeLessThanOrEqual(64);
  });
});
