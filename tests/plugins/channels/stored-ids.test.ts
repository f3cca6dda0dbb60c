// Tests which repeated messages reach the application when a store keeps the accepted ids.
import { describe, expect, test } from "vitest";
import { withKernel } from "../../../kernel/testing.ts";
import { application, channels, type Application } from "../../../plugins/channels/index.ts";
import { conversations } from "../../../plugins/conversations/index.ts";
import { createFakeStorage, type FakeFile } from "../../support/fake-conversation-storage.ts";
import { Faults, settle } from "../../support/stored-conversations.ts";
import { gate, createSampleChannel } from "../../support/sample-channel.ts";

const deduplicated = { dedupe: true };
const codeOf = ({ code }: { code: string }): string => code;

/** Runs a channel and an application over a file, until `use` has returned. */
async function run(
  file: FakeFile,
  use: (at: {
    deliver(id: string, content?: string, options?: { dedupe: boolean }): Promise<string>;
    /** Stops a message, as a client does. */
    stop(id: string): void;
    /** True while the session has work, which a stop of the service waits for. */
    isBusy(): boolean;
    received: string[];
    faults: Faults;
  }) => Promise<void>,
  handler: Application = () => undefined,
): Promise<void> {
  const { plugin, inlet, message } = createSampleChannel();
  const received: string[] = [];
  const faults = new Faults();
  const store = conversations({ store: () => faults.wrap(createFakeStorage(file)) });
  const app = application((incoming, signal) => {
    received.push(incoming.id);
    return handler(incoming, signal);
  });
  await withKernel([store, channels(), plugin, app], () =>
    use({
      deliver: (id, content = id, options = deduplicated) =>
        inlet().deliver(message({ id, content }), options).catch(codeOf),
      stop: (id) => void inlet().stop("s", id),
      isBusy: () => inlet().isBusy("s"),
      received,
      faults,
    }),
  );
}

describe("ChannelHandle.deliver with a store", () => {
  test("recognises repeated and reused ids after a restart", async () => {
    const file: FakeFile = new Map();
    await run(file, async ({ deliver }) => {
      expect(await deliver("a", "one")).toBe("accepted");
    });
    await run(file, async ({ deliver, received }) => {
      const outcomes = [deliver("a", "one"), deliver("a", "two"), deliver("b")];
      expect(await Promise.all(outcomes)).toEqual(["duplicate", "id_reused", "accepted"]);
      expect(received).toEqual(["b"]);
    });
  });

  test("accepts a message only after its id is stored", async () => {
    await run(new Map(), async ({ deliver, received, faults }) => {
      expect(await deliver("a")).toBe("accepted");
      faults.hold();
      let outcome = "";
      const delivered = deliver("b").then((status) => (outcome = status));
      await settle();
      expect([outcome, received]).toEqual(["", ["a", "b"]]);
      faults.release();
      expect(await delivered).toBe("accepted");
    });
  });

  test("counts a message as work until its id is stored", async () => {
    await run(new Map(), async ({ deliver, isBusy, faults }) => {
      expect(await deliver("a")).toBe("accepted");
      faults.hold();
      const delivered = deliver("b");
      await settle();
      expect(isBusy()).toBe(true);
      faults.release();
      await delivered;
      await settle();
      expect(isBusy()).toBe(false);
    });
  });

  test("keeps the order of a session while its ids are loaded", async () => {
    await run(new Map(), async ({ deliver, received, faults }) => {
      faults.hold();
      const outcomes = [
        deliver("a"),
        deliver("b", "b", { dedupe: false }),
        deliver("c"),
        deliver("a"),
      ];
      await settle();
      expect(received).toEqual([]);
      faults.release();
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
    await run(new Map(), async ({ deliver, received, faults }) => {
      faults.isAway = true;
      expect(await deliver("a")).toBe("store_unavailable");
      expect(received).toEqual([]);
      faults.isAway = false;
      expect(await deliver("a")).toBe("accepted");
    });
  });

  test("hands over no message again whose id could not be stored", async () => {
    const file: FakeFile = new Map();
    await run(file, async ({ deliver, received, faults }) => {
      expect(await deliver("a")).toBe("accepted");
      faults.isAway = true;
      expect(await deliver("b")).toBe("store_unavailable");
      expect(await deliver("b")).toBe("store_unavailable");
      faults.isAway = false;
      expect(await deliver("b")).toBe("duplicate");
      expect(received).toEqual(["a", "b"]);
    });
    await run(file, async ({ deliver, received }) => {
      expect(await deliver("b")).toBe("duplicate");
      expect(received).toEqual([]);
    });
  });

  test("recognises stopped ids after a restart", async () => {
    const file: FakeFile = new Map();
    const done = gate();
    await run(
      file,
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
    await run(file, async ({ deliver, received }) => {
      const outcomes = [deliver("running"), deliver("queued", "one"), deliver("queued", "two")];
      expect(await Promise.all(outcomes)).toEqual(["stopped", "stopped", "id_reused"]);
      expect(received).toEqual([]);
    });
  });

  test("reports a stop only after its id is stored", async () => {
    const file: FakeFile = new Map();
    const done = gate();
    await run(
      file,
      async ({ deliver, stop, received, faults }) => {
        const outcomes = [deliver("a"), deliver("b")];
        await settle();
        faults.isAway = true;
        stop("b");
        expect(await outcomes[1]).toBe("store_unavailable");
        expect(await deliver("b")).toBe("store_unavailable");
        faults.isAway = false;
        expect(await deliver("b")).toBe("stopped");
        done.open();
        expect(await outcomes[0]).toBe("accepted");
        expect(received).toEqual(["a"]);
      },
      () => done.opened,
    );
    await run(file, async ({ deliver, received }) => {
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
      new Map(),
      async ({ deliver, received }) => {
        expect(await deliver("a")).not.toBe("accepted");
        expect(await deliver("a")).toBe("accepted");
        expect(received).toEqual(["a", "a"]);
      },
      handler,
    );
  });

  test("stores the id when the application accepts before it returns", async () => {
    const file: FakeFile = new Map();
    const done = gate();
    const handler: Application = async ({ accept }) => {
      accept();
      await done.opened;
    };
    await run(
      file,
      async ({ deliver }) => {
        expect(await deliver("a")).toBe("accepted");
        expect(file.get("sample\0s")?.taken.map(({ id }) => id)).toEqual(["a"]);
        done.open();
      },
      handler,
    );
  });

  test("removes a stopped message before its ids are loaded", async () => {
    const file: FakeFile = new Map();
    await run(file, async ({ deliver, stop, received, faults }) => {
      faults.hold();
      const outcomes = [deliver("a"), deliver("b"), deliver("c", "c", { dedupe: false })];
      await settle();
      for (const id of ["b", "c"]) stop(id);
      faults.release();
      expect(await Promise.all(outcomes)).toEqual(["accepted", "stopped", "stopped"]);
      expect(await deliver("b")).toBe("stopped");
      expect(received).toEqual(["a"]);
    });
    await run(file, async ({ deliver, received }) => {
      expect(await deliver("b")).toBe("stopped");
      expect(received).toEqual([]);
    });
  });
});
