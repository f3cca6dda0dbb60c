// Tests answers of several messages from servers that do not report the ends of answers.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { WebSocketServer } from "ws";
import { awayFrom, startClient } from "./client.ts";

const place = awayFrom();

type Frame = readonly [type: string, payload: object];

/** Starts a server without extensions, which answers each message with frames, one per turn. */
async function serve(answer: (count: number) => readonly Frame[]) {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  let count = 0;
  server.on("connection", (socket) =>
    socket.on("message", (data: Buffer) => {
      const { type } = JSON.parse(data.toString()) as { type: string };
      if (type !== "message.send") return;
      const frames = [...answer((count += 1))];
      const next = (): void => {
        const [frame, payload] = frames.shift() ?? [];
        if (frame === undefined) return;
        socket.send(JSON.stringify({ type: frame, payload }), () => setTimeout(next, 20));
      };
      next();
    }),
  );
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/pico`,
    [Symbol.dispose]() {
      for (const client of server.clients) client.terminate();
      server.close();
    },
  };
}

const create = (id: string, content: string, more: object = {}): Frame => [
  "message.create",
  { message_id: id, content, ...more },
];
const image = { type: "image", url: "https://example.org/cat.png", filename: "cat.png" };
const usage = { context_usage: { used_tokens: 1, total_tokens: 2 } };
const catLine = "[cat.png, https://example.org/cat.png]";

const answers: readonly (readonly [string, readonly Frame[], string])[] = [
  ["the next message", [create("a", "one"), create("b", "two", usage)], "one|two"],
  [
    "typing.stop",
    [
      ["typing.start", {}],
      ["media.create", { message_id: "a", content: "", attachments: [image] }],
      create("b", "two"),
      ["typing.stop", {}],
    ],
    `two|${catLine}`,
  ],
  ["context_usage while typing", [["typing.start", {}], create("a", "one", usage)], "one"],
];

describe("doorward send to a server without ends", () => {
  test.each(answers)("waits for the whole answer with %s", async (_, frames, expected) => {
    using server = await serve(() => frames);
    const client = await startClient({ ...place, url: server.url }, ["send", "hello"]);
    const { code, out } = await client.ended;
    expect([code, out.trim().split(/\n+/).join("|")]).toEqual([0, expected]);
  });
});

describe("doorward client without a terminal", () => {
  test("counts an answer of several messages once", async () => {
    using server = await serve((count) => [
      create(`a${count}`, `first ${count}`),
      create(`b${count}`, `second ${count}`, usage),
    ]);
    await using client = await startClient({ ...place, url: server.url }, ["client"]);
    client.child.stdin.end("hello\nagain\n");
    const { code, out } = await client.ended;
    const lines = out.trim().split("\n");
    expect([code, lines.sort()]).toEqual([0, ["first 1", "first 2", "second 1", "second 2"]]);
  });
});

describe("an answer that -timeout cuts off", () => {
  test.each([
    ["send", ["send", "-timeout", "1", "hello"]],
    ["client", ["client", "-timeout", "1"]],
  ])("keeps its attachments with %s", async (_, args) => {
    using server = await serve(() => [create("a", "look", { attachments: [image] })]);
    await using client = await startClient({ ...place, url: server.url }, args);
    client.child.stdin.end("hello\n");
    const { code, out } = await client.ended;
    expect([code, out]).toEqual([5, `look\n${catLine}\n`]);
  });

  test("keeps its attachments with send -json", async () => {
    using server = await serve(() => [create("a", "look", { attachments: [image] })]);
    const args = ["send", "-json", "-timeout", "1", "hello"];
    const { out } = await (await startClient({ ...place, url: server.url }, args)).ended;
    const { url, filename } = image;
    expect(JSON.parse(out)).toMatchObject({ media: [{ url, filename }], complete: false });
  });
});
