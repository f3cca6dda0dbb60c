// Tests that a question reaches clients that connect after it was asked.
import { describe, expect, test } from "vitest";
import type { Application, QuestionInput } from "../../../plugins/channels/index.ts";
import { connect, type ChatQuestion } from "../../../lib/pico-link/client.ts";
import {
  startPicoServer,
  token,
  waitFor,
  type Frame,
  type PicoTestServer,
} from "../../support/pico-server-harness.ts";

const question = (content: string): QuestionInput => ({
  kind: "approval",
  content,
  options: [{ id: "once", label: "Allow once", effect: "allow" }],
});
/** Asks one question for each word of the message. */
const asker: Application = async ({ content, ask, reply }) => {
  const effects = await Promise.all(content.split(" ").map((word) => ask(question(word))));
  await reply({ content: effects.map(({ effect = "none" }) => effect).join() });
};
const session = "ann";
const path = `/pico?session_id=${session}`;
const knows = `${path}&pico_ext=1&pico_can=questions`;
const isQuestion = ({ payload }: Frame): boolean => payload?.["question"] !== undefined;

/** Asks with a client that has received and acknowledged everything. @returns The ids, in order. */
async function ask(server: PicoTestServer, words: string): Promise<readonly string[]> {
  const client = await server.connect(path);
  client.send({ type: "message.send", payload: { content: words } });
  const count = words.split(" ").length;
  const open = await waitFor(() => {
    const asked = server.services.channels.questions();
    return asked.length === count && asked;
  });
  await waitFor(
    () => client.frames.filter(({ type }) => type === "message.create").length === count,
  );
  client.ws.close();
  await waitFor(() => server.services.picoServer.connections().length === 0);
  return open.map(({ id }) => id);
}
const answer = (server: PicoTestServer, id: string) =>
  server.services.channels.answer(
    { channel: "pico", session },
    id,
    { option: "once" },
    undefined,
    "cli",
  );

describe("a client that connects late", () => {
  test("receives whole open questions after hello, oldest first", async () => {
    await using server = await startPicoServer({ app: asker });
    const ids = await ask(server, "first second");
    const late = await server.connect(knows);
    await waitFor(() => late.frames.filter(isQuestion).length >= 2);
    await late.settled();
    const [hello, ...rest] = late.frames;
    expect(hello!.payload!["questions"]).toEqual(ids);
    const asked = rest.filter(isQuestion);
    expect(asked.map(({ payload }) => payload!["message_id"])).toEqual(ids);
    expect(asked[1]).toMatchObject({
      type: "message.create",
      session_id: session,
      payload: { content: expect.stringMatching(/^second\n/), question: { state: "open" } },
    });
    expect(asked.map(({ timestamp }) => timestamp)).toEqual(
      server.services.channels.questions().map(({ at }) => at),
    );
  });

  test("receives nothing more without the capability", async () => {
    await using server = await startPicoServer({ app: asker });
    await ask(server, "first");
    for (const without of [path, `${path}&pico_ext=1&pico_can=turns`]) {
      const late = await server.connect(without);
      await late.settled();
      expect(late.frames.filter(isQuestion)).toEqual([]);
      expect(late.frames.every(({ payload }) => payload?.["questions"] === undefined)).toBe(true);
    }
  });

  test("receives questions of another session that it names", async () => {
    await using server = await startPicoServer({ app: asker });
    const [id] = await ask(server, "first");
    const late = await server.connect("/pico?session_id=other&pico_ext=1&pico_can=questions");
    late.send({ type: "typing.start", session_id: session });
    const asked = await waitFor(() => late.frames.find(isQuestion));
    expect(asked).toMatchObject({ session_id: session, payload: { message_id: id } });
  });

  test("receives questions as events, and learns the settlement", async () => {
    await using server = await startPicoServer({ app: asker });
    const [id] = await ask(server, "first");
    const url = `http://127.0.0.1:${server.port}/pico/events?session_id=${session}`;
    const headers = { authorization: `Bearer ${token}` };
    const controller = new AbortController();
    const { signal } = controller;
    const { body } = await fetch(`${url}&pico_can=questions`, { headers, signal });
    const reader = body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    const readUntil = async (wanted: string): Promise<void> => {
      while (!text.includes(wanted)) text += (await reader.read()).value ?? "";
    };
    await readUntil('"state":"open"');
    await answer(server, id!);
    await readUntil('"state":"settled"');
    controller.abort();
    expect(text).toContain(`"message_id":"${id}"`);
  });
});

describe("onQuestion", () => {
  test("runs once while a question is open and once when settled", async () => {
    await using server = await startPicoServer({ app: asker });
    const [first, second] = await ask(server, "first second");
    const seen: ChatQuestion[] = [];
    const client = connect({
      url: `http://127.0.0.1:${server.port}/pico`,
      token,
      sessionId: session,
      onQuestion: (asked) => void seen.push(asked),
    });
    await waitFor(() => seen.length === 2);
    await answer(server, second!);
    await waitFor(() => seen.length === 3);
    client.close();
    expect(seen.map(({ id, state }) => [id, state])).toEqual([
      [first, "open"],
      [second, "open"],
      [second, "settled"],
    ]);
  });
});
