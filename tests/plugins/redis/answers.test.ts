// Ends and stops of answers that run on another node than that of the client.
import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Message } from "../../../plugins/channels/index.ts";
import { openEventStream } from "../../support/event-stream.ts";
import { both, send } from "../../support/extension-clients.ts";
import { token, type Client, type Frame } from "../../support/pico-server-harness.ts";
import { useChannelNodes, type ChannelNode } from "../../support/redis-channel-server.ts";
import { hasRedis } from "../../support/redis-server.ts";

const { waitFor } = vi;
const { start } = useChannelNodes();

type App = (message: Message) => Promise<void>;

const answer: App = async ({ accept, reply, content }) => {
  accept();
  await reply({ content: `re ${content}` });
};

/** Accepts a message whose content is `accept`, and runs until it is stopped. */
const endless: App = ({ accept, content, stream, signal }) =>
  new Promise((resolve) => {
    if (content === "accept") {
      stream().write("so far");
      accept();
    }
    signal.addEventListener("abort", () => resolve());
  });

/** Starts the node that gets the session by its first message, and another one. */
async function startTwo(app: App): Promise<[ChannelNode, ChannelNode]> {
  const options = { prefix: randomUUID(), app };
  return [await start(options), await start(options)];
}

const join = (node: ChannelNode, more = both): Promise<Client> =>
  node.connect(`/pico?session_id=s&pico_ext=1${more}`);
const find = (client: Client, type: string): Frame[] =>
  client.frames.filter((frame) => frame.type === type);
const until = (client: Client, type: string, count = 1): Promise<Frame[]> =>
  waitFor(() => {
    const found = find(client, type);
    expect(found.length).toBeGreaterThanOrEqual(count);
    return found;
  }, 10_000);

async function stop(client: Client, id?: string): Promise<unknown> {
  const before = find(client, "stop.ack").length;
  const payload = id === undefined ? {} : { request_id: id };
  client.send({ type: "message.stop", id: "x", payload });
  return (await until(client, "stop.ack", before + 1))[before]!.payload?.["stopped"];
}

describe.skipIf(!hasRedis)("answer.end", () => {
  test("reaches a client of another node after the text", async () => {
    const [a, b] = await startTwo(answer);
    const [here, there] = [await join(a), await join(b)];
    for (const id of ["m1", "m2"]) {
      here.send(send(id));
      await waitFor(() =>
        expect(find(there, "answer.end").at(-1)?.payload?.["request_id"]).toBe(id),
      );
      expect(there.frames.at(-1)?.type).toBe("answer.end");
    }
    expect(find(there, "answer.end").at(-1)?.payload).toMatchObject({ outcome: "completed" });
    expect(find(here, "answer.end")).toHaveLength(2);
  });

  test("follows the acknowledgement, also of a message that was passed on", async () => {
    const [a, b] = await startTwo(({ reply, content }) =>
      reply({ content: `re ${content}` }).then(() => undefined),
    );
    for (const client of [await join(a), await join(b)]) {
      const ids = Array.from({ length: 20 }, (_, at) => `${at}-${randomUUID()}`);
      for (const id of ids) client.send(send(id));
      await waitFor(() => {
        const ends = find(client, "answer.end").map(({ payload }) => payload?.["request_id"]);
        expect(ends).toEqual(expect.arrayContaining(ids));
      }, 10_000);
      const placeOf = (type: string, id: string): number =>
        client.frames.findIndex(
          (frame) => frame.type === type && frame.payload?.["request_id"] === id,
        );
      for (const id of ids) {
        expect(placeOf("message.ack", id)).toBeGreaterThanOrEqual(0);
        expect(placeOf("message.ack", id)).toBeLessThan(placeOf("answer.end", id));
      }
    }
  });

  test("follows the replay after a resume on another node", async () => {
    const [a, b] = await startTwo(answer);
    const first = await join(a);
    first.send(send("m1"));
    await until(first, "answer.end");
    const [hello] = await until(first, "hello");
    first.ws.terminate();
    const again = await join(b, `${both}&resume=${String(hello!.payload?.["epoch"])}:1`);
    const ends = await until(again, "answer.end");
    expect(again.frames.map(({ type }) => type)).toEqual(["hello", "message.create", "answer.end"]);
    expect(ends[0]!.payload).toMatchObject({ request_id: "m1" });
  });

  test("reaches an event stream of another node, live and after a resume", async () => {
    const [a, b] = await startTwo(answer);
    const read = async (id?: string) => {
      const response = await fetch(
        `http://127.0.0.1:${b.port}/pico/events?session_id=s&pico_can=stop`,
        {
          headers: {
            authorization: `Bearer ${token}`,
            ...(id !== undefined && { "Last-Event-ID": id }),
          },
        },
      );
      const reader = response.body!.getReader();
      onTestFinished(() => reader.cancel().catch(() => undefined));
      let text = "";
      return async () => {
        while (!text.includes("answer.end"))
          text += Buffer.from((await reader.read()).value!).toString();
        return text;
      };
    };
    const live = await read();
    await waitFor(() => expect(b.services.picoServer.connections()).toHaveLength(1));
    const here = await join(a);
    here.send(send("m1"));
    const text = await live();
    expect(text).toContain("re m1");
    const cursor = /id: (\S+:\d+)\n/.exec(text)![1]!;
    expect(await (await read(cursor))()).toContain('"request_id":"m1"');
  });

  test("reaches no later client unless one has asked before", async () => {
    const [a, b] = await startTwo(answer);
    const plain = await join(a, "");
    plain.send(send("m1"));
    await until(plain, "message.create");
    await plain.settled();
    const late = await join(b);
    await late.settled();
    expect(find(late, "answer.end")).toEqual([]);
  });
});

describe.skipIf(!hasRedis)("hello.running", () => {
  test("lists the answers of the node that has the session", async () => {
    const [a, b] = await startTwo(endless);
    const here = await join(a);
    const listed = async (): Promise<unknown> => {
      const [hello] = await until(await join(b), "hello");
      return hello!.payload?.["running"];
    };
    expect(await listed()).toEqual([]);
    here.send(send("m1", "accept"));
    await until(here, "message.create");
    expect(await listed()).toMatchObject([{ request_id: "m1", at: expect.any(Number) }]);
    const stream = await openEventStream(b, `s&pico_ext=1${both}`);
    expect((await stream.next()).data.payload).toMatchObject({ running: [{ request_id: "m1" }] });
    await stop(await join(b), "m1");
    await until(here, "answer.end");
    expect(await listed()).toEqual([]);
  });
});

describe.skipIf(!hasRedis)("hello.questions", () => {
  test("lists and shows the questions of the node that has the session", async () => {
    const [a, b] = await startTwo(({ ask }) =>
      ask({ kind: "approval", content: "Delete?" }).then(() => undefined),
    );
    const here = await join(a, "&pico_can=questions");
    here.send(send("m1"));
    const [asked] = await until(here, "message.create");
    const id = asked!.payload!["message_id"];
    const late = await join(b, "&pico_can=questions");
    const [hello] = await until(late, "hello");
    expect(hello!.payload).toMatchObject({ questions: [id] });
    const [shown] = await until(late, "message.create");
    expect(shown).toMatchObject({ payload: asked!.payload, timestamp: asked!.timestamp });
    late.send({ type: "question.answer", payload: { message_id: id, option: "deny" } });
    await until(late, "question.ack");
    await until(here, "message.update");
    const [after] = await until(await join(b, "&pico_can=questions"), "hello");
    expect(after!.payload).toMatchObject({ questions: [] });
  });
});

describe.skipIf(!hasRedis)("message.stop", () => {
  test("stops an answer of another node, which is over then", async () => {
    const [a, b] = await startTwo(endless);
    const [here, there] = [await join(a), await join(b)];
    here.send(send("m1", "accept"));
    await until(there, "message.create");
    expect(await stop(there, "m1")).toEqual([{ request_id: "m1", status: "stopping" }]);
    const [end] = await until(there, "answer.end");
    expect(end!.payload).toMatchObject({ request_id: "m1", outcome: "stopped" });
    expect(find(here, "message.update").at(-1)?.payload).toMatchObject({
      content: "so far",
      final: true,
    });
    expect(await stop(there, "m1")).toEqual([{ request_id: "m1", status: "over" }]);
    expect(await stop(there, "other")).toEqual([{ request_id: "other", status: "unknown" }]);
  });

  test("removes a waiting message that this node has passed on", async () => {
    const [a, b] = await startTwo(endless);
    const [here, there] = [await join(a), await join(b)];
    here.send(send("m1", "accept"));
    await until(here, "message.ack");
    here.send(send("m2"));
    there.send(send("m3"));
    there.send(send("m4"));
    const stopped = (await stop(there)) as {
      readonly request_id: string;
      readonly status: string;
    }[];
    const statuses = Object.fromEntries(
      stopped.map(({ request_id, status }) => [request_id, status]),
    );
    expect(statuses).toMatchObject({ m1: "stopping", m4: "removed" });
    await until(there, "error", 2);
    expect(find(there, "error").map(({ payload }) => payload?.["code"])).toEqual([
      "stopped",
      "stopped",
    ]);
    there.send(send("m4"));
    await until(there, "error", 3);
    expect(find(there, "error").at(-1)?.payload).toMatchObject({ code: "stopped" });
  });

  test("works by POST and by the service", async () => {
    const [a, b] = await startTwo(endless);
    const here = await join(a);
    here.send(send("m1", "accept"));
    await until(here, "message.ack");
    const { status, body } = await b.fetch("/pico/stop", { session_id: "s", request_id: "m1" });
    expect([status, body]).toEqual([200, { stopped: [{ request_id: "m1", status: "stopping" }] }]);
    await until(here, "answer.end");
    const over = await b.services.channels.stop({ channel: "pico", session: "s" }, "m1");
    expect(over).toEqual([{ id: "m1", status: "over" }]);
  });

  test("reports a message as over when its node has gone", async () => {
    const [a, b] = await startTwo(answer);
    const here = await join(a);
    here.send(send("m1"));
    await until(here, "answer.end");
    await a.stop();
    const there = await join(b);
    expect(await stop(there, "m1")).toEqual([{ request_id: "m1", status: "over" }]);
  });
});
