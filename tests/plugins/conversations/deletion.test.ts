// Deletes a conversation at each moment of a message, lets everything end, and looks for the rest.
import { describe, expect, test } from "vitest";
import {
  application,
  type ApplicationOptions,
  type Message,
  type ReplyStream,
} from "../../../plugins/channels/index.ts";
import { send } from "../../support/extension-clients.ts";
import { waitFor } from "../../support/pico-server-harness.ts";
import { gate } from "../../support/sample-channel.ts";
import { durableForms, framesOf, startStore, type StoreForm } from "../../support/store-servers.ts";

const address = { channel: "pico", session: "s" };
const id = "s3cret-id";
/** Short enough to fit where a digest is expected. */
const question = "s3cret question";
const answer = "s3cret answer";

/** Calls of an application about the message, before the deletion and after it. */
interface Moment {
  readonly before: (message: Message) => Promise<void> | void;
  readonly after: (message: Message) => Promise<unknown> | void;
  /** The application returns before the deletion. */
  readonly returns?: boolean;
}

const streams = new WeakMap<Message, ReplyStream>();
const receipts = new WeakMap<Message, string>();
const ignored = (): undefined => undefined;

const moments: Readonly<Record<string, Moment>> = {
  "before the application accepts it": {
    before: ignored,
    after: ({ reply }) => reply({ content: answer }),
  },
  "while its answer grows": {
    before: (message) => {
      const stream = message.stream();
      streams.set(message, stream);
      stream.write(answer);
    },
    after: (message) => {
      const stream = streams.get(message)!;
      stream.write(" grows");
      return stream.end();
    },
  },
  "while its accepted answer grows": {
    before: (message) => {
      message.accept();
      return moments["while its answer grows"]!.before(message);
    },
    after: (message) => moments["while its answer grows"]!.after(message),
  },
  "between the final text and the acknowledgement": {
    before: async (message) => {
      await message.reply({ content: answer });
    },
    after: ({ accept }) => accept(),
  },
  "after its answer ended": {
    returns: true,
    before: async (message) =>
      receipts.set(message, (await message.reply({ content: answer })).id) && undefined,
    after: ({ reply, stream }) => {
      const late = stream();
      late.write(answer);
      return Promise.allSettled([reply({ content: answer }), late.end()]);
    },
  },
};

async function start(form: StoreForm, moment: Moment, options: ApplicationOptions = {}) {
  const deleted = gate();
  const received: Message[] = [];
  const ended = gate();
  const app = application(async (message) => {
    if (message.id !== id) return void (await message.reply({ content: `re ${message.content}` }));
    received.push(message);
    await moment.before(message);
    const finish = async (): Promise<void> => {
      await deleted.opened;
      await Promise.resolve(moment.after(message)).catch(ignored);
      ended.open();
    };
    if (moment.returns) void finish();
    else await finish();
  }, options);
  const servers = await startStore(form, () => app);
  const { home, away } = servers;
  const client = await home.join();
  client.send(send("m0", "s3cret greeting"));
  await framesOf(client, "message.create");
  const list = async () => (await away.services.conversations.list()).items;
  await expect.poll(list).toHaveLength(1);
  return { servers, home, away, client, list, received, deleted, ended };
}

/** Expects only the conversation of another session, which was stored after everything else. */
async function expectGone({ servers, home, away, list }: Awaited<ReturnType<typeof start>>) {
  for (const node of new Set([home, away])) {
    const other = await node.join("other");
    other.send(send(`m${Math.random()}`, "another"));
    await framesOf(other, "answer.end");
  }
  expect((await list()).map(({ session }) => session)).toEqual(["other"]);
  const { conversations } = away.services;
  expect(await conversations.find(address)).toBeUndefined();
  const hits = await conversations.search("s3cret").catch(() => []);
  expect(hits).toEqual([]);
  const left = await servers.stop();
  expect(left).toContain("another");
  expect(left).not.toContain("s3cret");
}

describe.each(durableForms)("the deletion of a conversation (%s)", (form) => {
  test.each(Object.keys(moments))("leaves nothing of a message %s", async (name) => {
    const moment = moments[name]!;
    const stand = await start(form, moment);
    const { home, away, client, list, received, deleted, ended } = stand;
    client.send(send(id, question));
    await waitFor(() => received.length > 0);
    if (moment.before !== ignored) await framesOf(client, "message.create", 2);
    if (moment.returns) await framesOf(client, "answer.end", 2);
    const [conversation] = await list();
    await away.services.conversations.forget(conversation!.id);
    await expect.poll(() => home.services.channels.busySessions("pico").length < 2).toBe(true);
    const isSignalled = (): boolean => received[0]!.signal.aborted;
    if (!moment.returns) await expect.poll(isSignalled).toBe(true);
    deleted.open();
    await ended.opened;
    const sent = receipts.get(received[0]!);
    if (sent !== undefined)
      for (const { services } of new Set([home, away])) {
        const changed = await services.channels.update(address, sent, { content: answer });
        expect(changed).toEqual({ id: sent, status: "undelivered", reason: "deleted" });
        expect((await services.channels.remove(address, sent)).status).toBe("undelivered");
      }
    await expectGone(stand);
  });

  test("leaves nothing of messages that wait, also if they are repeated", async () => {
    const stand = await start(form, moments["before the application accepts it"]!);
    const { away, client, list, received, deleted } = stand;
    client.send(send(id, question));
    client.send(send("s3cret-2", "s3cret two"));
    client.send(send("s3cret-3", "s3cret three"));
    await waitFor(() => received.length > 0);
    await client.settled();
    const [conversation] = await list();
    await away.services.conversations.forget(conversation!.id);
    await expect.poll(() => received[0]!.signal.aborted).toBe(true);
    const again = await stand.home.join();
    for (const [repeated, content] of [
      [id, question],
      ["s3cret-2", "s3cret two"],
      ["s3cret-3", "s3cret three"],
    ] as const)
      again.send(send(repeated, content));
    const errors = await framesOf(again, "error", 3);
    expect(errors.map(({ payload }) => payload?.["code"])).toEqual(Array(3).fill("stopped"));
    deleted.open();
    await stand.ended.opened;
    again.ws.terminate();
    await expectGone(stand);
  });

  test("lets the session continue with a new conversation", async () => {
    const stand = await start(form, moments["while its answer grows"]!);
    const { home, away, client, list, received, deleted, ended } = stand;
    client.send(send(id, question));
    await framesOf(client, "message.create", 2);
    const [conversation] = await list();
    await away.services.conversations.forget(conversation!.id);
    await expect.poll(() => received[0]!.signal.aborted).toBe(true);
    const again = await home.join();
    again.send(send("m1", "a new beginning"));
    deleted.open();
    await ended.opened;
    await framesOf(again, "message.create");
    await framesOf(again, "answer.end");
    const [found] = await list();
    expect(found).toMatchObject({ session: "s", title: "a new beginning", turns: 2 });
    const { items } = await away.services.conversations.read(found!.id);
    expect(items.map(({ content }) => content)).toEqual(["a new beginning", "re a new beginning"]);
    expect(await stand.servers.stop()).not.toContain("s3cret");
  });
});
