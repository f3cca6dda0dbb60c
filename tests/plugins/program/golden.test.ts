// Compares the bytes that clients receive from a program without "parts" with recorded ones.
import { describe, expect, test } from "vitest";
import { createNormalizer, startProgramService } from "../../support/program-service.ts";

const script = `
let stopped;
each((m) => {
  const { content } = m.payload ?? {};
  if (m.type === "message.stop")
    return say("message.ack", { request_id: m.id, final: true });
  const update = (payload) => say("message.update", { message_id: "a" + m.id, ...payload });
  const begin = (more) => answer(m, "one", { message_id: "a" + m.id, final: false, ...more });
  if (content === "whole") answer(m, "all", { model_name: "m", usage: { input_tokens: 3 } });
  if (content === "update") {
    begin();
    update({ content: "one two", final: true, finish_reason: "length" });
  }
  if (content === "append") {
    begin();
    say("message.append", { message_id: "a" + m.id, content: " two", final: true });
  }
  if (content === "placeholder") {
    begin({ final: undefined, placeholder: true });
    update({ content: "done", final: true });
  }
  if (content === "thought") {
    answer(m, "hm", { kind: "thought" });
    answer(m, "all");
  }
  if (content === "tools") {
    const call = { id: "c", function: { name: "f", arguments: "{}" } };
    answer(m, "", { kind: "tool_calls", message_id: "t" + m.id, tool_calls: [call] });
    say("message.update", {
      message_id: "t" + m.id, content: "", final: true, tool_calls: [{ ...call, result: "ok" }],
    });
    answer(m, "all", { attachments: [{ url: "https://example.org/a.png", filename: "a.png" }] });
  }
  if (content === "none") say("message.ack", { request_id: m.id, final: true });
  if (content === "error") say("error", { request_id: m.id, message: "no" });
  if (content === "bad") say("message.create", { request_id: m.id, content: 7 });
  if (content === "stop") begin();
});`;

const kinds = ["whole", "update", "append", "placeholder", "thought", "tools", "none", "error"];

async function record(query: string): Promise<string[]> {
  await using service = await startProgramService(`say("ready", { can: ["stop"] }); ${script}`);
  const client = await service.open("s", query);
  const normalize = createNormalizer();
  const frames: string[] = [];
  const isEnd = (frame: string, id: string): boolean =>
    frame.includes(`"type":"answer.end"`) && frame.includes(`"request_id":"${id}"`);
  const until = async (matches: (frame: string) => boolean): Promise<void> => {
    for (;;) {
      const frame = await client.frames.next("a frame");
      frames.push(normalize(frame));
      if (matches(frame)) return;
    }
  };
  for (const kind of [...kinds, "bad"]) {
    client.say(kind, kind);
    await until((frame) => isEnd(frame, kind));
  }
  client.say("stop", "stop");
  await until((frame) => frame.includes('"content":"one"'));
  client.stop("stop");
  await until((frame) => isEnd(frame, "stop"));
  client.close();
  return frames;
}

describe("a program without parts", () => {
  test("sends the recorded bytes to its clients", async () => {
    expect((await record("&pico_ext=1&pico_can=append,stop,turns")).join("\n")).toMatchSnapshot();
  });
});
