// Tests how the built client stops answers at a terminal.
import { describe, expect, test } from "vitest";
import type { Application } from "../../plugins/channels/index.ts";
import { startRemote, type Remote } from "../support/pico-client-harness.ts";
import { createPeer } from "../support/scripted-peer.ts";
import { awayFrom, startAtTerminal } from "./client.ts";
import { freePort } from "./free-port.ts";
import { python } from "./terminal.ts";

const place = awayFrom();
const ctrlC = "\u0003";
const ctrlD = "\u0004";

/** Answers "long" until the client stops it, and everything else immediately. */
const answerUntilStopped: Application = async ({ content, signal, reply, stream }) => {
  if (content !== "long") return void (await reply({ content: `you said ${content}` }));
  const answer = stream();
  answer.write("half an answer");
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
  await answer.end();
};

async function atLongAnswer(app = answerUntilStopped) {
  const there = await startRemote(app, { config: { drain_timeout: 0 } });
  const client = await startAtTerminal(place, ["client", "-url", there.url]);
  await client.said(/connected/);
  client.child.stdin.write("long\r");
  await client.said(/half an answer/);
  return {
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
    },
  };
}

describe.skipIf(!python)("doorward client", () => {
  test.each([
    ["Ctrl+C", ctrlC],
    ["/stop", "/stop\r"],
  ])("stops an answer at %s and goes on", async (_, keys) => {
    await using open = await atLongAnswer();
    const { client } = open;
    client.child.stdin.write(keys);
    await client.said(/half an answer[^]*stopped/);
    client.child.stdin.write("next\r");
    await client.said(/you said next/);
    client.child.stdin.write("/stop\r");
    await client.said(/no answer is running/);
    client.child.stdin.write(ctrlD);
    expect(await client.ended).toMatchObject({ code: 0 });
  });

  test("ends with 130 at the second Ctrl+C", async () => {
    await using open = await atLongAnswer(async ({ stream }, shutdown) => {
      stream().write("half an answer");
      await new Promise((resolve) => shutdown.addEventListener("abort", resolve));
    });
    open.client.child.stdin.write(ctrlC);
    await open.client.said(/press Ctrl\+C again/);
    open.client.child.stdin.write(ctrlC);
    expect(await open.client.ended).toMatchObject({ code: 130 });
  });

  test("leaves at Ctrl+C when no answer is running", async () => {
    await using there = await startRemote(answerUntilStopped);
    await using client = await startAtTerminal(place, ["client", "-url", there.url]);
    client.child.stdin.write("hello\r");
    await client.said(/you said hello/);
    client.child.stdin.write("/stop\r");
    await client.said(/no answer is running/);
    client.child.stdin.write(ctrlC);
    expect(await client.ended).toMatchObject({ code: 0 });
  });

  test("leaves at Ctrl+C if the server cannot stop answers", async () => {
    const half = { type: "message.create", payload: { message_id: "1", content: "half" } };
    await using peer = await createPeer({
      answer: ({ type }, socket) => {
        if (type === "message.send") socket.send(JSON.stringify(half));
      },
    });
    await using client = await startAtTerminal(place, ["client", "-url", peer.url]);
    await client.said(/connected/);
    client.child.stdin.write("hello\r");
    await client.said(/half/);
    client.child.stdin.write("/stop\r");
    await client.said(/this server cannot stop answers/);
    client.child.stdin.write(ctrlC);
    expect(await client.ended).toMatchObject({ code: 0 });
  });

  test("removes a message that was never sent", async () => {
    const port = await freePort();
    let there: Remote = await startRemote(answerUntilStopped, { port });
    await using client = await startAtTerminal(place, ["client", "-url", there.url]);
    await client.said(/connected/);
    await there[Symbol.asyncDispose]();
    await client.said(/reconnecting/);
    client.child.stdin.write("unwanted\r");
    await client.said(/unwanted/);
    client.child.stdin.write(ctrlC);
    await client.said(/stopped/);
    there = await startRemote(answerUntilStopped, { port });
    client.child.stdin.write("wanted\r");
    await client.said(/you said wanted/);
    expect(there.heard.map(({ content }) => content)).toEqual(["wanted"]);
    await there[Symbol.asyncDispose]();
  });
});
