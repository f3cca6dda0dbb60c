// Tests which answers `hello` reports to a client that joins.
import { describe, expect, test } from "vitest";
import type { Application } from "../../../../plugins/channels/index.ts";
import { both, join, next, send } from "../../../support/extension-clients.ts";
import { openEventStream } from "../../../support/event-stream.ts";
import {
  startPicoServer,
  waitFor,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";

/** Accepts a message, and runs until it is stopped. */
const endless: Application = ({ accept, signal }) =>
  new Promise((resolve) => {
    accept();
    signal.addEventListener("abort", () => resolve());
  });

async function runningAt(service: PicoTestServer, session = "s1"): Promise<unknown> {
  const client = await service.connect(`/pico?session_id=${session}&pico_ext=1${both}`);
  const [hello] = await next(client, 1);
  return hello!.payload?.["running"];
}

describe("hello.running", () => {
  test("lists the messages that the application works on", async () => {
    await using service = await startPicoServer({ app: endless });
    const phone = await join(service, both);
    expect(await runningAt(service)).toEqual([]);
    phone.send(send("m1"));
    phone.send(send("m2"));
    await waitFor(() => phone.frames.filter(({ type }) => type === "message.ack").length === 2);
    const at = 1_700_000_000_000;
    const list = [
      { request_id: "m1", at },
      { request_id: "m2", at },
    ];
    const laptop = await join(service, both);
    expect(await runningAt(service)).toEqual(list);
    phone.send({ type: "message.stop", id: "x", payload: { request_id: "m1" } });
    await waitFor(() => laptop.frames.find(({ type }) => type === "answer.end"));
    expect(await runningAt(service)).toEqual(list.slice(1));
    expect(await runningAt(service, "other")).toEqual([]);
  });

  test("stays away from clients without capabilities", async () => {
    await using service = await startPicoServer({ app: endless });
    const plain = await service.connect("/pico?session_id=s1&pico_ext=1");
    const [hello] = await next(plain, 1);
    expect(hello?.type).toBe("hello");
    expect(hello?.payload).not.toHaveProperty("running");
  });

  test("arrives in the first event of a stream with pico_ext", async () => {
    await using service = await startPicoServer({ app: endless });
    const phone = await join(service, both);
    phone.send(send("m1"));
    await waitFor(() => phone.frames.find(({ type }) => type === "message.ack"));
    const stream = await openEventStream(service, `s1&pico_ext=1${both}`, {
      "last-event-id": "another:7",
    });
    expect((await stream.next()).data).toMatchObject({
      type: "hello",
      payload: { session_id: "s1", resumed: false, gap: true, running: [{ request_id: "m1" }] },
    });
    expect((await stream.next()).data.type).toBe("gap");
  });
});
