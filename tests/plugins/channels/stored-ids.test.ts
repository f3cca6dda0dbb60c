// Tests which repeated messages reach the application when a store keeps the accepted ids.
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { application, channels, type Application } from "../../../plugins/channels/index.ts";
import { conversations } from "../../../plugins/conversations/index.ts";
import { Connection, loadDriver } from "../../../plugins/conversations/sqlite/driver.ts";
import { gate, createSampleChannel } from "../../support/sample-channel.ts";
import { createHistory, fileIn, settle, storeIn } from "../../support/sqlite-conversations.ts";
import { createFolder, Disk, entry } from "../../support/sqlite-store.ts";

const deduplicated = { dedupe: true };
const codeOf = ({ code }: { code: string }): string => code;

/** Result codes of SQLite. */
const [locked, broken] = [5, 10];

/** The ids that the file has, as another process reads them. */
function takenIn(folder: string): object[] {
  const reader = new Connection(loadDriver()!, fileIn(folder));
  const rows = reader.all("SELECT request, taken FROM entry WHERE taken IS NOT NULL");
  reader.close();
  return rows.map((row) => ({ ...row }));
}

/** Runs a channel and an application over the file in a folder, until `use` has returned. */
async function run(
  folder: string,
  use: (at: {
    deliver(id: string, content?: string, options?: { dedupe: boolean }): Promise<string>;
    /** Stops a message, as a client does. */
    stop(id: string): void;
    /** True while the session has work, which a stop of the service waits for. */
    isBusy(): boolean;
    received: string[];
    disk: Disk;
    /** Locks the file, as another program does. */
    lock(): void;
    unlock(): void;
  }) => Promise<void>,
  handler: Application = () => undefined,
): Promise<void> {
  const { plugin, inlet, message } = createSampleChannel();
  const received: string[] = [];
  const disk = new Disk();
  const store = conversations({ store: storeIn(folder, disk) });
  const app = application((incoming, signal) => {
    received.push(incoming.id);
    return handler(incoming, signal);
  });
  await withKernel([store, channels(), plugin, app], ({ clock }) =>
    use({
      lock: () => void (disk.code = locked),
      unlock() {
        disk.code = undefined;
        // The next attempt to write.
        clock.increment(10);
      },
      deliver: (id, content = id, options = deduplicated) =>
        inlet().deliver(message({ id, content }), options).catch(codeOf),
      stop: (id) => void inlet().stop("s", id),
      isBusy: () => inlet().isBusy("s"),
      received,
      disk,
    }),
  );
}

describe("ChannelHandle.deliver with a store", () => {
  test("recognises repeated and reused ids after a restart", async () => {
    const folder = createFolder();
    await run(folder, async ({ deliver }) => {
      expect(await deliver("a", "one")).toBe("accepted");
    });
    await run(folder, async ({ deliver, received }) => {
      const outcomes = [deliver("a", "one"), deliver("a", "two"), deliver("b")];
      expect(await Promise.all(outcomes)).toEqual(["duplicate", "id_reused", "accepted"]);
      expect(received).toEqual(["b"]);
    });
  });

  test("recognises a reused id whatever the first message said", async () => {
    await run(createFolder(), async ({ deliver }) => {
      expect(await deliver("a", "?")).toBe("accepted");
      expect(await deliver("a", "one")).toBe("id_reused");
    });
  });

  test("recognises a message whose complete answer was stored before a kill", async () => {
    const channel = "sample";
    const folder = await createHistory(
      entry("user", "u1", "one", { channel, request: "a" }),
      entry("create", "m1", "answer", { channel, answers: "a" }),
      entry("user", "u2", "two", { channel, request: "b" }),
      entry("create", "m2", "ans", { channel, final: false }),
    );
    await run(folder, async ({ deliver, received }) => {
      expect(await deliver("a", "one")).toBe("duplicate");
      expect(await deliver("b", "two")).toBe("accepted");
      expect(received).toEqual(["b"]);
    });
  });

  test("accepts a message only after its id is stored", async () => {
    await run(createFolder(), async ({ deliver, received, lock, unlock }) => {
      expect(await deliver("a")).toBe("accepted");
      lock();
      let outcome = "";
      const delivered = deliver("b").then((status) => (outcome = status));
      await settle();
      expect([outcome, received]).toEqual(["", ["a", "b"]]);
      unlock();
      expect(await delivered).toBe("accepted");
    });
  });

  test("counts a message as work until its id is stored", async () => {
    await run(createFolder(), async ({ deliver, isBusy, lock, unlock }) => {
      expect(await deliver("a")).toBe("accepted");
      lock();
      const delivered = deliver("b");
      await settle();
      expect(isBusy()).toBe(true);
      unlock();
      await delivered;
      await settle();
      expect(isBusy()).toBe(false);
    });
  });

  test("keeps the order of a session while its ids are loaded", async () => {
    await run(createFolder(), async ({ deliver, received }) => {
      const outcomes = [
        deliver("a"),
        deliver("b", "b", { dedupe: false }),
        deliver("c"),
        deliver("a"),
      ];
      expect(await Promise.all(outcomes)).toEqual([
        "accepted",
        "accepted",
        "accepted",
        "duplicate",
      ]);
      expect(received).toEqual(["a", "b", "c"]);
    });
  });

  test("rejects a message whose session cannot be loaded, and takes it later", async () => {
    await run(createFolder(), async ({ deliver, received, disk }) => {
      disk.readCode = broken;
      expect(await deliver("a")).toBe("store_unavailable");
      expect(received).toEqual([]);
      disk.readCode = undefined;
      expect(await deliver("a")).toBe("accepted");
    });
  });

  test("hands over no message again whose id could not be stored", async () => {
    const folder = createFolder();
    await run(folder, async ({ deliver, received, disk }) => {
      expect(await deliver("a")).toBe("accepted");
      disk.code = broken;
      expect(await deliver("b")).toBe("store_unavailable");
      expect(await deliver("b")).toBe("store_unavailable");
      disk.code = undefined;
      expect(await deliver("b")).toBe("duplicate");
      expect(received).toEqual(["a", "b"]);
    });
    await run(folder, async ({ deliver, received }) => {
      expect(await deliver("b")).toBe("duplicate");
      expect(received).toEqual([]);
    });
  });

  test("recognises stopped ids after a restart", async () => {
    const folder = createFolder();
    const done = gate();
    await run(
      folder,
      async ({ deliver, stop, received }) => {
        const outcomes = [deliver("running"), deliver("queued", "one"), deliver("queued", "one")];
        await settle();
        stop("running");
        stop("queued");
        expect(await Promise.all(outcomes)).toEqual(["stopped", "stopped", "stopped"]);
        expect(received).toEqual(["running"]);
        done.open();
      },
      () => done.opened,
    );
    await run(folder, async ({ deliver, received }) => {
      const outcomes = [deliver("running"), deliver("queued", "one"), deliver("queued", "two")];
      expect(await Promise.all(outcomes)).toEqual(["stopped", "stopped", "id_reused"]);
      expect(received).toEqual([]);
    });
  });

  test("reports a stop only after its id is stored", async () => {
    const folder = createFolder();
    const done = gate();
    await run(
      folder,
      async ({ deliver, stop, received, disk }) => {
        const outcomes = [deliver("a"), deliver("b")];
        await settle();
        disk.code = broken;
        stop("b");
        expect(await outcomes[1]).toBe("store_unavailable");
        expect(await deliver("b")).toBe("store_unavailable");
        disk.code = undefined;
        expect(await deliver("b")).toBe("stopped");
        done.open();
        expect(await outcomes[0]).toBe("accepted");
        expect(received).toEqual(["a"]);
      },
      () => done.opened,
    );
    await run(folder, async ({ deliver, received }) => {
      expect(await deliver("b")).toBe("stopped");
      expect(received).toEqual([]);
    });
  });

  test("forgets a message that the application has rejected", async () => {
    const failures = [new Error("no")];
    const handler: Application = () => {
      const failure = failures.pop();
      if (failure) throw failure;
    };
    await run(
      createFolder(),
      async ({ deliver, received }) => {
        expect(await deliver("a")).not.toBe("accepted");
        expect(await deliver("a")).toBe("accepted");
        expect(received).toEqual(["a", "a"]);
      },
      handler,
    );
  });

  test("stores the id when the application accepts before it returns", async () => {
    const folder = createFolder();
    const done = gate();
    const handler: Application = async ({ accept }) => {
      accept();
      await done.opened;
    };
    await run(
      folder,
      async ({ deliver }) => {
        expect(await deliver("a")).toBe("accepted");
        expect(takenIn(folder)).toEqual([{ request: "a", taken: expect.any(Number) }]);
        done.open();
      },
      handler,
    );
  });
});
