import { describe, expect, test } from "vitest";
import type { Receipt } from "../../../../plugins/channels/index.ts";
import { from, leave, next, resuming } from "../../../support/pico-resume-harness.ts";
import {
  startPicoServer,
  waitFor,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";

describe("receipts", () => {
  async function receipts(testServer: PicoTestServer) {
    const news: Receipt[] = [];
    testServer.kernel.on(
      "channels:receipt-changed",
      ({ id, status, reason }) =>
        void news.push({ id, status, ...(reason === undefined ? {} : { reason }) }),
    );
    return news;
  }

  test("report written, then delivered after a cumulative acknowledgement", async () => {
    await using testServer = await startPicoServer();
    const news = await receipts(testServer);
    const peer = await resuming(testServer);
    const sent = [
      await testServer.say("s1", "a"),
      await testServer.say("s1", "b"),
      await testServer.say("s1", "c"),
    ];
    expect(sent.map(({ status }) => status)).toEqual(["written", "written", "written"]);
    await next(peer, 3);
    peer.send({ type: "ack", payload: { seq: 2 } });
    await waitFor(() => news.length === 2);
    expect(news).toEqual(sent.slice(0, 2).map(({ id }) => ({ id, status: "delivered" })));
  });

  test("report buffered, then delivered to the returning client", async () => {
    await using testServer = await startPicoServer();
    const news = await receipts(testServer);
    const peer = await resuming(testServer);
    await leave(testServer, peer);
    const { id, status } = await testServer.say("s1", "a");
    expect(status).toBe("buffered");
    const again = await resuming(testServer, from(peer.hello));
    await next(again, 1);
    again.send({ type: "ack", payload: { seq: 1 } });
    await waitFor(() => news.length === 1);
    expect(news).toEqual([{ id, status: "delivered" }]);
  });

  test("report buffered for a message of the maximum size", async () => {
    await using testServer = await startPicoServer();
    const peer = await testServer.connect("/pico?session_id=s1");
    await testServer.say("s1", "");
    const rest = JSON.stringify(await peer.next()).length;
    const content = "x".repeat(512 * 1024 - rest);
    expect(await testServer.say("s2", content)).toMatchObject({ status: "buffered" });
    await expect(testServer.say("s2", `${content}x`)).rejects.toMatchObject({ code: "too_large" });
    const other = await testServer.connect("/pico?session_id=s2");
    expect((await other.next()).payload).toMatchObject({ content });
  });

  test("report buffered, then undelivered without a client in time", async () => {
    await using testServer = await startPicoServer();
    const news = await receipts(testServer);
    const { id } = await testServer.say("nobody", "a");
    testServer.clock.increment(300_000);
    await waitFor(() => news.length === 1);
    expect(news).toEqual([{ id, status: "undelivered", reason: "expired" }]);
  });

  test("exclude messages in a gap from later acknowledgements", async () => {
    await using testServer = await startPicoServer();
    const news = await receipts(testServer);
    const peer = await resuming(testServer);
    await leave(testServer, peer);
    for (let n = 1; n <= 257; n++) await testServer.say("s1", `${n}`);
    expect(news).toMatchObject([{ status: "undelivered", reason: "overflow" }]);
    const again = await resuming(testServer, from(peer.hello));
    const { id } = await testServer.say("s1", "after");
    await next(again, 2);
    again.send({ type: "ack", payload: { seq: 258 } });
    await waitFor(() => news.length === 2);
    expect(news[1]).toEqual({ id, status: "delivered" });
  });
});
