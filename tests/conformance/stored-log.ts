// Conformance tests of the session log over a SQLite store on a disk that can fail.
import { describe, expect, test } from "vitest";
import { Connection, loadDriver } from "../../plugins/conversations/sqlite/driver.ts";
import type { SequencedEntry, SessionLog, TakenId } from "../../plugins/conversations/index.ts";
import { fileIn, openConversations, settle } from "../support/sqlite-conversations.ts";
import { createFolder, Disk } from "../support/sqlite-store.ts";
import { numbered, partial } from "./session-log.ts";

/** Result codes of SQLite. */
const [locked, broken] = [5, 10];

async function openDisk(folder = createFolder()) {
  const disk = new Disk();
  return { disk, folder, ...(await openConversations(folder, disk)) };
}

const textOf = (frame: Uint8Array): string =>
  (JSON.parse(new TextDecoder().decode(frame)) as { text: string }).text;

/** Records the text of what it receives; numbered entries with their number. */
function createListener() {
  const received: string[] = [];
  const numbers: number[] = [];
  return {
    received,
    numbers,
    onEntry({ frame, numbered: isNumbered, cursor }: SequencedEntry): void {
      received.push(textOf(frame));
      if (isNumbered) numbers.push(cursor.seq);
    },
  };
}

const textsAfter = async (log: SessionLog, session: string, epoch: string, seq: number) => {
  const { frames, gap } = await log.readAfter(session, { epoch, seq });
  return { texts: frames.map(textOf), ...(gap && { gap: gap.reason }) };
};

const address = { channel: "pico", session: "s" };
type Code = { code: string };
const codeOf = (error: unknown): string => (error as Code).code;

/** Defines the tests that the log must pass. */
export function storedLogConformance(): void {
  describe("restoration", () => {
    test("continues a stream in the same epoch after a restart", async () => {
      const folder = createFolder();
      const first = await openDisk(folder);
      for (const text of ["a", "b", "c"]) await first.log.append("s", numbered(text));
      const top = (await first.log.top("s"))!;
      first.log.note("s", { epoch: top.epoch, after: 0, upTo: 1 }, "written");
      await first.conversations.close();

      const { log, conversations } = await openDisk(folder);
      const listener = createListener();
      await log.subscribe("s", listener);
      expect(await log.top("s")).toEqual(top);
      expect(await textsAfter(log, "s", top.epoch, 1)).toEqual({ texts: ["b", "c"] });
      expect((await log.readAfter("s", undefined)).frames.map(textOf)).toEqual(["b", "c"]);
      expect(await log.append("s", numbered("d"))).toMatchObject({ cursor: { ...top, seq: 4 } });
      expect(listener).toMatchObject({ received: ["d"], numbers: [4] });
      expect(await textsAfter(log, "s", top.epoch, 9)).toEqual({ texts: [], gap: "epoch_changed" });
      expect(await textsAfter(log, "s", "00", 1)).toEqual({ texts: [], gap: "epoch_changed" });
      await conversations.close();
    });

    test("keeps the epoch of an empty stream whose client may return", async () => {
      const folder = createFolder();
      const first = await openDisk(folder);
      await first.log.subscribe("s", createListener(), { resumes: true });
      const top = await first.log.top("s");
      await first.conversations.close();
      const { log, conversations } = await openDisk(folder);
      expect(await log.top("s")).toEqual(top);
      await conversations.close();
    });

    test("keeps the replay window and reports older frames as a gap", async () => {
      const folder = createFolder();
      const first = await openDisk(folder);
      const texts = Array.from({ length: 300 }, (_, at) => `${at + 1}`);
      await Promise.all(texts.map((text) => first.log.append("s", numbered(text))));
      const { epoch } = (await first.log.top("s"))!;
      await first.conversations.close();
      const { log, conversations } = await openDisk(folder);
      expect((await textsAfter(log, "s", epoch, 44)).texts).toEqual(texts.slice(44));
      expect(await textsAfter(log, "s", epoch, 43)).toEqual({ texts: [], gap: "overflow" });
      await conversations.close();
    });

    test("returns the accepted and stopped ids after a restart", async () => {
      const folder = createFolder();
      const first = await openDisk(folder);
      expect(await first.conversations.taken.known(address)).toEqual([]);
      await first.conversations.taken.settle(address, "m1", "digest 1");
      await first.conversations.taken.settle(address, "m2", "digest 2", { stopped: true });
      await first.conversations.close();
      const { conversations } = await openDisk(folder);
      const known = (await conversations.taken.known(address)) as readonly TakenId[];
      expect(known.map(({ id, digest, stopped }) => [id, digest, stopped])).toEqual([
        ["m1", "digest 1", undefined],
        ["m2", "digest 2", true],
      ]);
      for (const { ageMs } of known) expect(ageMs).toBeLessThan(60_000);
      expect(await conversations.taken.known({ ...address, session: "other" })).toEqual([]);
      await conversations.close();
    });
  });

  describe("batches", () => {
    test("reach no subscriber before they are stored", async () => {
      const { log, disk, pass, conversations } = await openDisk();
      const listener = createListener();
      await log.subscribe("s", listener);
      disk.code = locked;
      const appended = log.append("s", numbered("a"));
      await settle();
      expect(listener.received).toEqual([]);
      disk.code = undefined;
      await pass(10);
      await appended;
      expect(listener.received).toEqual(["a"]);
      await conversations.close();
    });

    test("delay unnumbered entries of their own sessions only", async () => {
      const { log, disk, pass, conversations } = await openDisk();
      const [own, other] = [createListener(), createListener()];
      await log.subscribe("s", own);
      await log.subscribe("t", other);
      disk.code = locked;
      const appended = log.append("s", numbered("a"));
      const later = log.append("s", partial("b", "m"));
      expect(log.append("t", partial("c", "m"))).not.toBeInstanceOf(Promise);
      expect([own.received, other.received]).toEqual([[], ["c"]]);
      disk.code = undefined;
      await pass(10);
      await Promise.all([appended, later]);
      expect(own.received).toEqual(["a", "b"]);
      await conversations.close();
    });

    test("contain positions within a moment, and all of them at the end", async () => {
      const folder = createFolder();
      const { log, pass, conversations } = await openDisk(folder);
      await log.append("s", numbered("a"));
      await log.append("s", numbered("b"));
      const { epoch } = (await log.top("s"))!;
      const written = (): number => {
        const reader = new Connection(loadDriver()!, fileIn(folder));
        const found = reader.number("SELECT written FROM conversation");
        reader.close();
        return found;
      };
      log.note("s", { epoch, after: 0, upTo: 1 }, "written");
      await pass(250);
      expect(written()).toBe(1);
      log.note("s", { epoch, after: 1, upTo: 2 }, "written");
      await conversations.close();
      expect(written()).toBe(2);
    });
  });

  describe("failures", () => {
    test("leave streams as they were, and no number has two contents", async () => {
      const { log, disk, lines, conversations } = await openDisk();
      const listener = createListener();
      await log.subscribe("s", listener);
      await log.append("s", numbered("a"));
      disk.code = broken;
      const failed = ["b", "c"].map((text) => Promise.resolve(log.append("s", numbered(text))));
      const later = log.append("s", partial("d", "m"));
      expect(await Promise.all(failed.map((call) => call.catch(codeOf)))).toEqual([
        "store_unavailable",
        "store_unavailable",
      ]);
      await later;
      expect((await log.top("s"))?.seq).toBe(1);
      disk.code = undefined;
      expect(await log.append("s", numbered("e"))).toMatchObject({ cursor: { seq: 2 } });
      expect(listener).toMatchObject({ received: ["a", "d", "e"], numbers: [1, 2] });
      expect(lines.filter(({ level }) => level === "error")).toHaveLength(1);
      await conversations.close();
    });

    test("reject calls for sessions that cannot be loaded, and recover", async () => {
      const { log, disk, conversations } = await openDisk();
      disk.readCode = broken;
      const listener = createListener();
      const calls: (() => unknown)[] = [
        () => log.subscribe("s", listener, { resumes: true }),
        () => log.readAfter("s", undefined),
        () => log.append("s", numbered("a")),
        () => conversations.taken.settle(address, "m", "digest"),
        () => conversations.taken.known(address),
        () => conversations.list(),
        () => conversations.find(address),
        () => conversations.search("text"),
      ];
      const codes = calls.map((call) => (async () => call())().catch(codeOf));
      expect(new Set(await Promise.all(codes))).toEqual(new Set(["store_unavailable"]));
      disk.readCode = undefined;
      await log.subscribe("s", listener, { resumes: true });
      await log.append("s", numbered("b"));
      expect(listener.received).toEqual(["b"]);
      await conversations.close();
    });

    test("end a subscription whose stream could not be stored", async () => {
      const { log, disk, conversations } = await openDisk();
      await log.subscribe("s", createListener());
      disk.code = broken;
      const listener = createListener();
      await expect(log.subscribe("s", listener, { resumes: true })).rejects.toMatchObject({
        code: "store_unavailable",
      });
      disk.code = undefined;
      await log.append("s", numbered("a"));
      expect(listener.received).toEqual([]);
      await conversations.close();
    });

    test("reject new entries while too many wait", async () => {
      const { log, disk, pass, conversations } = await openDisk();
      await log.subscribe("s", createListener());
      disk.code = locked;
      const text = "x".repeat(1024 * 1024);
      const waiting = Array.from({ length: 16 }, () => log.append("s", numbered(text)));
      expect(() => log.append("s", numbered("more"))).toThrow(
        expect.objectContaining({ code: "store_busy" }),
      );
      expect(conversations.health().waitingBytes).toBeGreaterThanOrEqual(16 * 1024 * 1024);
      disk.code = undefined;
      await pass(10);
      await Promise.all(waiting);
      expect(await log.append("s", numbered("more"))).toMatchObject({ cursor: { seq: 17 } });
      await conversations.close();
      expect(conversations.health().waitingBytes).toBe(0);
    });
  });

  describe("sessions in use", () => {
    test("survive retention, and idle ones are loaded again", async () => {
      const { log, idle, pass, disk, conversations } = await openDisk();
      const [one, two] = [createListener(), createListener()];
      for (const listener of [one, two]) await log.subscribe("s", listener);
      await log.append("s", numbered("a"));
      const top = await log.top("s");
      log.unsubscribe("s", one);
      expect(idle).toEqual([]);
      log.unsubscribe("s", two);
      expect(idle).toEqual(["s"]);
      await pass(1_000_000);
      await pass(1_000_000);
      disk.readCode = broken;
      expect(() => log.top("s")).toThrow(expect.objectContaining({ code: "store_unavailable" }));
      disk.readCode = undefined;
      expect(await log.top("s")).toEqual(top);
      await conversations.close();
    });

    test("begin a new epoch when their conversation is forgotten", async () => {
      const { log, renewed, conversations } = await openDisk();
      await log.subscribe("s", createListener(), { resumes: true });
      await log.append("s", numbered("a"));
      const before = (await log.top("s"))!;
      const { id } = (await conversations.find(address))!;
      await conversations.forget(id);
      expect(renewed).toEqual(["s"]);
      const after = await log.append("s", numbered("b"));
      expect(after).toMatchObject({ cursor: { seq: 1 }, subscribers: 0 });
      expect((await log.top("s"))!.epoch).not.toBe(before.epoch);
      const { gap } = await log.readAfter("s", before);
      expect(gap).toEqual({ reason: "epoch_changed" });
      await conversations.close();
    });
  });
}
