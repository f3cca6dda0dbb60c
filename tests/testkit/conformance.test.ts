import { describe, expect, test } from "vitest";
import { http } from "../../plugins/http/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import {
  channelRules,
  connectTestClient,
  memoryTokens,
  runChannelConformance,
  testTokens,
  type ChannelRule,
  type Peer,
  type PeerEvent,
} from "../../testkit/index.ts";
import { codeOf, type AnyPlugin, type Plugin } from "../../kernel/index.ts";
import type { Channels } from "../../plugins/channels/index.ts";
import { createModelChannel, type Breaks } from "../support/paper-peer.ts";

/** For events that never happen; conforming channels get more time. */
const [briefMs, longMs] = [300, 20_000];

const noop = (): void => undefined;
/** A paper peer leaves without a sign, and needs no token. The peers share a paper. */
const paperCapabilities = { presence: false, authentication: false, twoKernels: false } as const;

async function verdict(
  breaks: Breaks,
  rules: readonly ChannelRule[] = channelRules,
  keepsMessages = false,
  timeoutMs = briefMs,
): Promise<string[]> {
  const { plugin, join } = createModelChannel(breaks);
  try {
    await runChannelConformance(plugin, {
      join,
      rules,
      timeoutMs,
      capabilities: { ...paperCapabilities, keepsMessages },
    });
    return [];
  } catch (error) {
    expect(codeOf(error)).toBe("CHANNEL_NOT_CONFORMING");
    const { broken } = (error as { details: { broken: { rule: string }[] } }).details;
    return broken.map(({ rule }) => rule);
  }
}

/** @returns How a channel breaks the rule. */
async function problemOf(
  plugin: AnyPlugin,
  join: () => Peer,
  rules: readonly ChannelRule[],
): Promise<string | undefined> {
  const options = { join, rules, timeoutMs: briefMs, capabilities: paperCapabilities };
  const error: unknown = await runChannelConformance(plugin, options).catch(
    (reason: unknown) => reason,
  );
  const { details } = error as { details: { broken: { problem: string }[] } };
  return details.broken[0]?.problem;
}

/** Rule -> a break of it. The mutations of the TCP channel break the other rules. */
const broken: Readonly<Partial<Record<ChannelRule, Breaks>>> = {
  "attaches one adapter and detaches it when it stops": { keepsInlet: true },
  "delivers peer messages complete, once, with an id and a time": {
    inlet: (inlet) => ({ ...inlet, deliver: (m) => (void inlet.deliver(m), inlet.deliver(m)) }),
  },
  "keeps the order of peer messages": {
    inlet: (inlet) => {
      let held: Parameters<typeof inlet.deliver>[0] | undefined;
      return {
        ...inlet,
        async deliver(message) {
          const before = held;
          held = before ? undefined : message;
          if (!before) return "accepted";
          await inlet.deliver(message);
          return inlet.deliver(before);
        },
      };
    },
  },
  "delivers messages while an accepted one is still worked on": {
    inlet: (inlet) => ({
      ...inlet,
      async deliver(message, options) {
        while (inlet.isBusy(message.session)) await new Promise((next) => void setTimeout(next, 5));
        return inlet.deliver(message, options);
      },
    }),
  },
  "shows sent messages complete, once, in order, under the receipt id": {
    port: (port) => ({ ...port, send: (s, id, m) => port.send(s, `${id}-own`, m) }),
  },
  "shows long texts complete": {
    port: (port) => ({
      ...port,
      send: (s, id, m) => port.send(s, id, { ...m, content: m.content.slice(0, 4_096) }),
    }),
  },
  "keeps sessions apart": {
    port: (port, rooms) => ({
      ...port,
      send: (_, id, { content }) => {
        for (const room of rooms.values()) room.push({ what: "create", id, content });
        return { id, status: "written" };
      },
    }),
  },
  "does not report a message without peers as written": {
    port: (port) => ({
      ...port,
      async send(session, id, message) {
        try {
          return await port.send(session, id, message);
        } catch {
          return { id, status: "written" };
        }
      },
    }),
  },
  "reports an error if the application rejects a message": { failed: () => undefined },
  "updates a message in place, up to its final text": {
    port: (port) => ({
      ...port,
      update: (session, id, message) => port.send(session, `${id}-again`, message),
    }),
  },
  "removes a message": {
    port: (port) => ({ ...port, remove: (_, id) => ({ id, status: "written" }) }),
  },
  "shows typing, and ignores it in sessions without peers": {
    port: (port, rooms) => ({
      ...port,
      typing: (session, on) => rooms.get(session)!.push({ what: "typing", on }),
    }),
  },
  "serves the other peers after one has left": { gone: (rooms) => rooms.clear() },
  "stops with connected peers, delivers nothing more, and starts again": { remembers: true },
  "causes no fault": { stop: () => Promise.reject(new Error("it cannot stop")) },
};

describe("runChannelConformance", () => {
  test("accepts a channel that keeps every rule", async () => {
    expect(await verdict({}, channelRules, false, longMs)).toEqual([]);
  });

  test.each(Object.entries(broken) as [ChannelRule, Breaks][])(
    "reports a channel that breaks: %s",
    async (rule, breaks) => {
      expect(await verdict(breaks, [rule])).toEqual([rule]);
    },
  );

  test("names an unhandled rejection of deliver()", async () => {
    const unhandled = createModelChannel({
      inlet: (inlet) => ({
        ...inlet,
        deliver(message, options) {
          void inlet.deliver(message, options).then(() => undefined);
          return Promise.resolve("accepted");
        },
      }),
    });
    const rules = ["reports an error if the application rejects a message"] as const;
    await expect(problemOf(unhandled.plugin, unhandled.join, rules)).resolves.toMatch(
      /the promise of deliver\(\) was rejected with "internal" and not handled; write channel\.del/,
    );
  });

  test("explains a join that resolves too early", async () => {
    const { plugin, join } = createModelChannel({
      port: (port) => ({ ...port, send: (_, id) => ({ id, status: "undelivered" }) }),
    });
    const rules = ["keeps sessions apart"] as const;
    expect(await problemOf(plugin, join, rules)).toMatch(
      /^a message to "room-1" is undelivered although its peer has joined; join\(\) must resolve/,
    );
  });

  test.each([
    [undefined, "session, say, next, leave"],
    [{ session: "", say: noop, next: noop, leave: noop }, "session"],
    [{ session: "a", send: noop, next: noop }, "say, leave"],
  ])("names what a peer lacks: %j", async (peer, names) => {
    const { plugin } = createModelChannel();
    const rules = ["keeps the order of peer messages"] as const;
    expect(await problemOf(plugin, () => peer as never, rules)).toBe(
      "join() must return { session, say(text), next(), leave() }, as the type Peer says. " +
        `Wrong or missing: ${names}`,
    );
  });

  test("detects lost updates, invented receipts and endless stops", async () => {
    const attaches: ChannelRule = "attaches one adapter and detaches it when it stops";
    const shows: ChannelRule = "shows sent messages complete, once, in order, under the receipt id";
    const updates: ChannelRule = "updates a message in place, up to its final text";
    const lost: Breaks = {
      port: (port) => ({ ...port, update: (_, id) => ({ id, status: "written" }) }),
    };
    const sent: Breaks = {
      port: (port) => ({
        ...port,
        send: async (...args) => {
          await port.send(...args);
          return { status: "sent" } as never;
        },
      }),
    };
    expect(await verdict(lost, [updates])).toEqual([updates]);
    expect(await verdict(sent, [shows])).toEqual([shows]);
    expect(await verdict({ stop: () => new Promise(() => undefined) }, [attaches])).toEqual([
      attaches,
    ]);
  });

  test("requires a mailbox to deliver kept messages first", async () => {
    const rule: ChannelRule = "stops with connected peers, delivers nothing more, and starts again";
    expect(await verdict({ remembers: true }, [rule], true, longMs)).toEqual([]);
    expect(await verdict({}, [rule], true)).toEqual([rule]);
  });

  test("passes the services of the channel and earlier plugins to join", async () => {
    const {
      plugin: { shape: _, ...plugin },
      join,
    } = createModelChannel();
    const offering: Plugin<{ needs: { channels: Channels }; offers: { ownership: number } }> = {
      ...plugin,
      start: async (scope) => (await plugin.start(scope), { ownership: 7 }),
    };
    const rules: ChannelRule[] = ["keeps the order of peer messages"];
    const joined: unknown[] = [];
    await runChannelConformance(offering, {
      rules,
      join: ({ ownership }) => (joined.push(ownership satisfies number), join()),
    });
    await runChannelConformance(offering, {
      rules,
      before: [memoryTokens()] as const,
      join: ({ ownership, tokens }) => (
        joined.push(ownership satisfies number, typeof tokens.verify),
        join()
      ),
    });
    expect(joined).toEqual([7, 7, "function"]);
  });

  test("skips rules for unsupported methods", async () => {
    const simple: Breaks = { port: ({ name, send, failed = noop }) => ({ name, send, failed }) };
    expect(await verdict(simple, channelRules, false, longMs)).toEqual([]);
  });
});

describe("pico channel", () => {
  const whatByType: Record<string, PeerEvent["what"]> = {
    "message.create": "create",
    "message.update": "update",
    "message.delete": "remove",
    error: "error",
    "typing.start": "typing",
    "typing.stop": "typing",
  };
  let count = 0;

  async function peer(channel: URL, session = `peer-${(count += 1)}`): Promise<Peer> {
    const client = await connectTestClient(channel, { token: testTokens.pico, session });
    return {
      session,
      say: (content) => client.say(content, { id: `${session} ${(count += 1)}` }),
      typing: (on) => client.send({ type: on ? "typing.start" : "typing.stop" }),
      async next() {
        const { type, payload = {} } = await client.next();
        const { message_id: id, request_id: inReplyTo, content, kind, final, code } = payload;
        return {
          what: whatByType[type],
          id,
          content,
          kind,
          inReplyTo,
          final,
          code,
          on: type === "typing.start",
        } as unknown as PeerEvent;
      },
      another: () => peer(channel, session),
      leave: () => client.close(),
    };
  }

  test.each(channelRules)("%s", async (rule) => {
    await runChannelConformance(picoServer(), {
      before: [memoryTokens(), http({ port: 0 })] as const,
      config: { "channels.pico": { enabled: true } },
      capabilities: { sessionsInFrames: true },
      join: ({ http: { addresses } }) => peer(new URL("pico", addresses()[0])),
      async intrude({ http: { addresses } }) {
        await connectTestClient(new URL("pico", addresses()[0]), { token: "wrong-token" });
      },
      rules: [rule],
    });
  });
});
