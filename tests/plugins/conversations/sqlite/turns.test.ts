// How much the store does in one turn of the event loop.
import { describe, expect, test } from "vitest";
import { countTurns } from "../../../support/event-turns.ts";
import { address, Disk, entry, epoch, openStore } from "../../../support/sqlite-store.ts";

const sessions = Array.from({ length: 50 }, (_, index) => ({ ...address, session: `s${index}` }));

type Store = Awaited<ReturnType<typeof openStore>>;

/** Appends messages to all sessions. `told` hears each outcome. */
function appendAll(store: Store, each: number, told: (session: string) => void): void {
  for (const at of sessions)
    for (let index = 0; index < each; index += 1) {
      const one = entry("user", `m${index}`, "x", { ...at, request: `${index}` });
      store.append(at, epoch, one, (error) => told(error === undefined ? at.session : "failed"));
    }
}

describe.each(["process", "power"] as const)("SqliteStore (%s)", (durability) => {
  test("tells at most 192 writers in a turn, in rotation", async () => {
    const store = await openStore({ durability });
    const counted = countTurns();
    const told: string[] = [];
    appendAll(store, 40, (session) => {
      counted.count();
      told.push(session);
    });
    await expect.poll(() => told.length).toBe(2_000);
    expect(counted.end()).toEqual({ most: 192, all: 2_000 });
    expect(new Set(told.slice(0, 192)).size).toBe(50);
    expect(told).not.toContain("failed");
  });

  test("tells no writer in the turn of a read, which finds everything", async () => {
    const store = await openStore({ durability });
    const told: string[] = [];
    appendAll(store, 2, (session) => void told.push(session));
    expect(store.knownIds(sessions[7]!)).toHaveLength(2);
    expect(store.hasTurn(sessions[9]!, "1")).toBe(true);
    expect(store.history.list().items).toHaveLength(50);
    expect(store.questions()).toEqual([]);
    expect(told).toEqual([]);
    await expect.poll(() => told.length).toBe(100);
    expect(told).not.toContain("failed");
  });
});

describe("SqliteStore", () => {
  test("writes only the session that a read is about", async () => {
    const store = await openStore();
    appendAll(store, 1, () => undefined);
    expect(store.isStored(sessions[3]!)).toBe(false);
    store.knownIds(sessions[3]!);
    expect(sessions.filter((at) => store.isStored(at))).toEqual([sessions[3]]);
  });

  test("refuses the later writes of a session after a failure", async () => {
    const disk = new Disk();
    const store = await openStore({ driver: disk.driver });
    const told: string[] = [];
    appendAll(store, 10, (session) => void told.push(session));
    disk.code = 10;
    store.knownIds(sessions[0]!);
    disk.code = undefined;
    await expect.poll(() => told.length).toBe(500);
    expect(told.every((session) => session === "failed")).toBe(true);
    const later: string[] = [];
    appendAll(store, 1, (session) => void later.push(session));
    await expect.poll(() => later.length).toBe(50);
    expect(store.load(sessions[0]!)).toMatchObject({ seq: 1 });
  });
});
