// Tests messages that a client repeats after a kill before their acceptance.
import { describe, expect, test } from "vitest";
import { createKernel } from "../../../kernel/index.ts";
import { createCapturedLog, createStoppedClock } from "../../../kernel/testing.ts";
import { channels } from "../../../plugins/channels/index.ts";
import { conversations, type Turn } from "../../../plugins/conversations/index.ts";
import { createSampleChannel, gate } from "../../support/sample-channel.ts";
import {
  createHistory,
  openConversations,
  settle,
  storeIn,
} from "../../support/sqlite-conversations.ts";
import { entry, type TestEntry } from "../../support/sqlite-store.ts";

const channel = "sample";
const address = { channel, session: "s" };
const codeOf = ({ code }: { code: string }): string => code;

/** A message that was handed over, the first part of its answer, and later entries. */
const killed = (...later: readonly TestEntry[]): Promise<string> =>
  createHistory(
    entry("user", "u", "one", { channel, request: "a", payload: { request_id: "a" } }),
    entry("create", "m", "so", { channel, final: false, payload: { request_id: "a" } }),
    ...later,
  );

/** Starts a kernel over the folder. */
async function start(folder: string) {
  const removing = gate();
  const { plugin, inlet, message } = createSampleChannel({
    // Channels of other servers need time to remove a message.
    async remove(_, id) {
      await removing.opened;
      return { id, status: "written" };
    },
  });
  const captured = createCapturedLog();
  const clock = createStoppedClock();
  const received: string[] = [];
  const kernel = createKernel([conversations({ store: storeIn(folder) }), channels()], {
    plugins: [plugin],
    log: captured.log,
    clock,
  });
  await kernel.start();
  const release = kernel.services.channels.handle(({ id }) => void received.push(id));
  /** @param then - Runs while the first answer is being removed. */
  const deliver = (then: () => void = () => undefined): Promise<string> => {
    kernel.on("channels:message-received", () => queueMicrotask(then));
    return inlet()
      .deliver(message({ id: "a", content: "one" }), { dedupe: true })
      .catch(codeOf);
  };
  return { kernel, clock, inlet, received, deliver, release, removing, lines: captured.lines };
}

/** Reads the turns of the message, after the process has ended. */
async function turnsIn(folder: string): Promise<readonly Turn[]> {
  const store = (await openConversations(folder)).conversations;
  const found = await store.find(address);
  const first = await store.read(found!.id, { after: ":0" });
  const last = await store.read(found!.id);
  const items = new Map([...first.items, ...last.items].map((turn) => [turn.id, turn]));
  await store.close();
  return [...items.values()].filter(({ requestId }) => requestId === "a");
}

describe("a message that is repeated after a kill", () => {
  test("takes its turn over behind many later ones", async () => {
    const later = Array.from({ length: 1_500 }, (_, at) =>
      entry("create", `n${at}`, "note", { channel }),
    );
    const folder = await killed(...later);
    const { kernel, deliver, received, removing } = await start(folder);
    removing.open();
    await expect(deliver()).resolves.toBe("accepted");
    expect(received).toEqual(["a"]);
    await kernel.stop();
    await expect(turnsIn(folder)).resolves.toMatchObject([{ requestId: "a" }]);
  });

  test("ends as stopped without a time-out before it is handed over", async () => {
    const folder = await killed();
    const { kernel, clock, deliver, inlet, received, removing, lines } = await start(folder);
    const late: unknown[] = [];
    kernel.on("channels:stop-timed-out", (event) => void late.push(event));
    const stopped: unknown[] = [];
    const outcome = deliver(() => {
      void inlet()
        .stop("s", "a")
        .then((results) => stopped.push(...results));
    });
    await expect(outcome).resolves.toBe("stopped");
    await expect.poll(() => stopped).toMatchObject([{ status: "stopping" }]);
    clock.increment(60_000);
    await settle();
    removing.open();
    await kernel.stop();
    expect([received, late]).toEqual([[], []]);
    expect(lines.filter(({ text }) => text.includes("did not end a stopped"))).toEqual([]);
    await expect(turnsIn(folder)).resolves.toMatchObject([{ outcome: "stopped" }]);
  });

  test("has an outcome if the application leaves before it is handed over", async () => {
    const folder = await killed();
    const { kernel, deliver, received, release, removing } = await start(folder);
    removing.open();
    await expect(deliver(release)).resolves.toBe("no_application");
    expect(received).toEqual([]);
    const store = kernel.services.conversations;
    const { items } = await store.read((await store.find(address))!.id);
    expect(items[0]).toMatchObject({ outcome: "failed", code: "no_application" });
    await kernel.stop();
  });
});
