import { describe, expect, test } from "vitest";
import type { Message } from "../../../../plugins/channels/index.ts";
import {
  fetchJson,
  startPicoServer,
  waitFor,
  type PicoTestServer,
} from "../../../support/pico-server-harness.ts";

const png = "data:image/png;base64,iVBORw0KGgo=";
const pdf = { type: "file", url: "data:application/pdf;base64,AAAA", filename: "a.pdf" };
const message = {
  type: "message.send",
  id: "m1",
  payload: { content: "look", media: [png], attachments: [pdf] },
};

type Received = Pick<Message, "content" | "media">;

/** Starts a server whose application stores the messages it receives. */
const standWith = (received: Received[]): Promise<PicoTestServer> =>
  startPicoServer({ app: ({ content, media }) => void received.push({ content, media }) });

describe("attachments of a client message", () => {
  test("skip unsupported ones without a new frame for plain clients", async () => {
    const received: Received[] = [];
    await using testServer = await standWith(received);
    const peer = await testServer.connect();
    peer.send(message);
    await waitFor(() => received.length > 0);
    await peer.settled();
    const media = [expect.objectContaining({ type: "image/png" })];
    expect(received).toEqual([{ content: "look", media }]);
    expect(peer.frames).toEqual([]);
  });

  test("list skipped ones in a notice to clients of the extension", async () => {
    const received: Received[] = [];
    await using testServer = await standWith(received);
    const peer = await testServer.connect("/pico?session_id=s1&pico_ext=1");
    peer.send(message);
    await waitFor(() => received.length > 0);
    await peer.settled();
    expect(peer.frames.map(({ type }) => type)).toEqual(["hello", "notice", "message.ack"]);
    expect(peer.frames[1]).toEqual({
      type: "notice",
      session_id: "s1",
      timestamp: expect.any(Number) as number,
      payload: {
        code: "attachments_skipped",
        message: expect.any(String) as string,
        request_id: "m1",
        attachments: [{ index: 1, filename: "a.pdf" }],
      },
    });
  });

  test.each(["", "?wait=5"])("list skipped ones in the response to a post (%s)", async (query) => {
    await using testServer = await startPicoServer({
      app: async ({ reply }) => void (await reply({ content: "ok" })),
    });
    const post = (body: object) =>
      fetchJson(testServer.port, `/pico/messages${query}`, {
        method: "POST",
        body: { session_id: "s", ...body },
      });
    const { body } = await post(message.payload);
    expect(body).toMatchObject({ status: "accepted", skipped: [{ index: 1, filename: "a.pdf" }] });
    expect((await post({ content: "look", media: png })).body).not.toHaveProperty("skipped");
  });
});
