// Notices: words of a bridge that are not the application's.
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Application } from "../../../plugins/channels/index.ts";
import { conversations, sqlite } from "../../../plugins/conversations/index.ts";
import {
  fetchJson,
  startPicoServer,
  token,
  waitFor,
  type Client,
  type Frame,
} from "../../support/pico-server-harness.ts";

const path = "/pico?session_id=ann";
const extended = `${path}&pico_ext=1`;
const sentence = "The agent has forgotten this conversation";
const quote = 'You said "kind":"notice"';

/** Answers with a notice and a text that looks like one. */
const bridge: Application = async ({ reply }) => {
  await reply({ kind: "notice", content: sentence });
  await reply({ content: quote });
};

async function start(app: Application = bridge) {
  const folder = await mkdtemp(join(tmpdir(), "doorward-notices-"));
  const first = conversations({ store: sqlite({ path: join(folder, "c.db") }) });
  return startPicoServer({ app, first });
}

/** Returns type, number and content of each message until the text of the answer. */
async function messagesOf(client: Client): Promise<unknown[]> {
  const isText = ({ payload }: Frame): boolean => payload?.["content"] === quote;
  await waitFor(() => client.frames.some(isText));
  return client.frames
    .filter(({ type }) => ["message.create", "message.delete"].includes(type))
    .map((frame) => [frame.type, (frame as { seq?: number }).seq, frame.payload!["content"]]);
}

describe("a notice", () => {
  test("reaches clients that know notices, and leaves no hole for others", async () => {
    await using server = await start();
    const knows = await server.connect(`${extended}&pico_can=notices,turns`);
    const old = await server.connect(`${extended}&pico_can=turns`);
    const plain = await server.connect(path);
    const notice = await waitFor(() => knows.frames.find(({ type }) => type === "hello"));
    expect(notice.payload!["can"]).toEqual(["notices", "turns"]);
    plain.send({ type: "message.send", payload: { content: "hello" } });
    const numbered = [
      ["message.create", 2, sentence],
      ["message.create", 3, quote],
    ];
    expect(await messagesOf(knows)).toEqual(numbered);
    const skipped = ["message.delete", 2, undefined];
    expect(await messagesOf(old)).toEqual([skipped, numbered[1]]);
    expect(await messagesOf(plain)).toEqual([["message.create", undefined, quote]]);
    // The replay reads frames from the store.
    const again = await server.connect(`${extended}&pico_can=notices&resume=${epochOf(old)}:1`);
    expect(await messagesOf(again)).toEqual(numbered);
    const late = await server.connect(`${extended}&resume=${epochOf(old)}:1`);
    expect(await messagesOf(late)).toEqual([skipped, numbered[1]]);
  });

  test("reaches streams of events that know notices, and no waiting request", async () => {
    await using server = await start();
    const message = { session_id: "ann", content: "hello" };
    const { body } = await fetchJson(server.port, "/pico/messages?wait=30", {
      method: "POST",
      body: message,
    });
    const replies = body["messages"] as readonly Frame[];
    expect(replies.map(({ payload }) => payload!["content"])).toEqual([quote]);
    const epoch = String((replies[0] as { epoch?: string }).epoch);
    const read = async (can: string): Promise<string> => {
      const stop = new AbortController();
      const response = await fetch(
        `http://127.0.0.1:${server.port}/pico/events?session_id=ann${can}`,
        {
          headers: { authorization: `Bearer ${token}`, "last-event-id": `${epoch}:0` },
          signal: stop.signal,
        },
      );
      let text = "";
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        if (text.includes("You said")) break;
      }
      stop.abort();
      return text;
    };
    expect(await read("&pico_can=notices")).toContain(sentence);
    expect(await read("")).not.toContain(sentence);
  });

  test("belongs to the history of clients, not to that of the application", async () => {
    const pages: { readonly items: readonly unknown[] }[] = [];
    await using server = await start(async (message) => {
      pages.push(await message.history({ limit: 2 }));
      await bridge(message, message.signal);
    });
    const plain = await server.connect(path);
    for (const content of ["one", "two"]) {
      plain.send({ type: "message.send", payload: { content } });
      await messagesOf(plain);
      plain.frames.splice(0);
    }
    const texts = (turns: unknown): unknown[] =>
      (turns as readonly { content: string }[]).map(({ content }) => content);
    expect(pages).toHaveLength(2);
    // A notice takes the place of no turn.
    expect(texts(pages[1]!.items)).toEqual(["one", quote]);
    const read = async (query: string): Promise<unknown[]> => {
      const { body } = await fetchJson(server.port, `/pico/history?session_id=ann${query}`);
      return texts(body["turns"]);
    };
    expect(await read("")).toEqual(["one", quote, "two", quote]);
    expect(await read("&limit=2")).toEqual(["two", quote]);
    expect(await read("&pico_can=notices")).toEqual([
      ...["one", sentence, quote],
      ...["two", sentence, quote],
    ]);
  });
});

const epochOf = ({ frames }: Client): string =>
  (frames.find((frame) => "epoch" in frame) as unknown as { epoch: string }).epoch;
