import { describe, expect, test } from "vitest";
import { createPeer, type PeerOptions } from "../../support/scripted-peer.ts";
import { awayFrom, startClient } from "../../e2e/client.ts";

/* The built program as a client of a server that lacks the extension: nothing marks the end of a reply. */

const place = awayFrom();

type Answer = NonNullable<PeerOptions["answer"]>;
const create = (content: string, rest: object = {}) => ({
  type: "message.create",
  payload: { message_id: "1", content, ...rest },
});
const answers =
  (...frames: object[]): Answer =>
  ({ type }, socket) => {
    if (type === "message.send") for (const frame of frames) socket.send(JSON.stringify(frame));
  };
const half = create("half");
const whole = { type: "message.update", payload: { message_id: "1", content: "half and half" } };

async function run(answer: Answer, args: readonly string[], input = "") {
  await using peer = await createPeer({ answer });
  const client = await startClient({ ...place, url: peer.url }, args);
  client.child.stdin.end(input);
  return {
    ...(await client.ended),
    origin: peer.url.replace("ws:", "http:").replace(/\/pico$/, ""),
  };
}

describe("doorward send", () => {
  test.each([
    ["typing.stop", { type: "typing.stop" }, ""],
    [
      "the next reply",
      { type: "message.create", payload: { message_id: "2", content: "more" } },
      "\nmore\n",
    ],
  ])("prints the whole reply and exits with 0 after %s", async (_, end, more) => {
    const { code, out, err } = await run(answers(half, whole, end), ["send", "hello"]);
    expect({ code, out, err }).toEqual({ code: 0, out: `half and half\n${more}`, err: "" });
  });

  test("takes context_usage for the end of a reply", async () => {
    const usage = { used_tokens: 1, total_tokens: 2 };
    const { code, out } = await run(answers(create("all", { context_usage: usage })), [
      "send",
      "hello",
    ]);
    expect({ code, out }).toEqual({ code: 0, out: "all\n" });
  });

  test("exits with 5 if only the silence ends the reply", async () => {
    const { code, out, err } = await run(answers(half), ["send", "-silence", "1", "hello"]);
    expect({ code, out }).toEqual({ code: 5, out: "half\n" });
    expect(err).toContain("may be incomplete");
    expect(err).toContain("for 1 s");
  });

  test("exits with 5 after the timeout and reports it in JSON", async () => {
    const { code, out, err } = await run(answers(half), [
      "send",
      "-json",
      "-timeout",
      "1",
      "hello",
    ]);
    expect(code).toBe(5);
    expect(JSON.parse(out)).toMatchObject({ content: "half", complete: false });
    expect(err).toContain("The reply is incomplete");
  });

  test("exits with 5 if the server disconnects during the reply", async () => {
    const leaves: Answer = (frame, socket) => {
      answers(half)(frame, socket);
      socket.close(1000);
    };
    const { code, out } = await run(leaves, ["send", "hello"]);
    expect({ code, out }).toEqual({ code: 5, out: "half\n" });
  });

  test("accepts whole seconds of silence up to an hour", async () => {
    const { code, err } = await run(answers(), ["send", "-silence", "0", "hello"]);
    expect(code).toBe(2);
    expect(err).toContain("-silence");
  });
});

describe("doorward client", () => {
  test("exits with 5 in a pipe after silence ends a reply", async () => {
    const { code, out } = await run(answers(half), ["client", "-silence", "1"], "hello\n");
    expect({ code, out }).toEqual({ code: 5, out: "half\n" });
  });

  const picture = {
    attachments: [{ type: "image", url: "/pico/media/7", filename: "cat.png" }],
    context_usage: {},
  };

  test("shows an attachment with its filename and address", async () => {
    const { code, out, origin } = await run(answers(create("", picture)), ["client"], "hello\n");
    expect({ code, out }).toEqual({ code: 0, out: `[cat.png, ${origin}/pico/media/7]\n` });
  });

  test("passes the fields of an attachment with -json", async () => {
    const message = `${JSON.stringify({ type: "message.send", id: "m", payload: { content: "hi" } })}\n`;
    const { code, out, origin } = await run(
      answers(create("", picture)),
      ["client", "-json"],
      message,
    );
    expect(code).toBe(0);
    expect(JSON.parse(out.split("\n")[0]!)).toMatchObject({
      payload: {
        attachments: [{ type: "image", url: `${origin}/pico/media/7`, filename: "cat.png" }],
      },
    });
  });
});
