// Checks a channel against the rules that every channel must keep.
import { codeOf, type AnyPlugin, type ServicesOf, type Wired } from "../kernel/index.ts";
import type { Receipt } from "../plugins/channels/index.ts";
import { testingErrors } from "./errors.ts";
import { startConformanceRun, type ConformanceRun, type ObservedPeer, type Peer } from "./rig.ts";

/** Throws if the channel breaks the rule; the message says how. */
type ConformanceRule = (run: ConformanceRun) => Promise<void>;

const statuses: readonly string[] = ["written", "buffered", "delivered", "undelivered"];
const sample = 'Grüße\n  \u{1F600} <b>&amp;\u2028"quoted"\\ ';

function claim(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new Error(problem);
}

const to = (run: ConformanceRun, { session }: Pick<ObservedPeer, "session">) => ({
  channel: run.port.name,
  session,
});
const send = (
  run: ConformanceRun,
  peer: Pick<ObservedPeer, "session">,
  content: string,
): Promise<Receipt> => run.channels.send(to(run, peer), { content });

/** Each rule runs with a kernel of its own. The names are part of the public interface. */
const conformanceRules = {
  async "attaches one adapter and detaches it when it stops"(run) {
    claim(run.ports.length === 1, `it attached ${run.ports.length} adapters`);
    claim(/^[a-z][a-z0-9_]*$/.test(run.port.name), `"${run.port.name}" is not a name of a channel`);
    await run.stop();
    claim(run.attached() === 0, "it did not close its inlet");
  },

  async "delivers peer messages complete, once, with an id and a time"(run) {
    const peer = await run.join();
    const since = Date.now();
    await peer.say(sample);
    await peer.say("next");
    const [first, second] = [
      await run.messages.next("the message"),
      await run.messages.next("the next message"),
    ];
    const [expected, actual] = [sample, first.content].map((text) => JSON.stringify(text));
    claim(first.content === sample, `it changed the text ${expected} to ${actual}`);
    claim(
      second.content === "next",
      `it delivered ${JSON.stringify(second.content)} instead of the next message`,
    );
    claim(first.session === peer.session, "the message came from another session");
    claim(first.id !== "" && first.id !== second.id, "two messages have one id");
    claim(Math.abs(first.at - since) < 3_600_000, "the time is not in Unix milliseconds");
    claim(Array.isArray(first.media) && first.hops >= 0, "media or hops are missing");
  },

  async "keeps the order of peer messages"(run) {
    const peer = await run.join();
    const sent = Array.from({ length: 20 }, (_, index) => `message ${index}`);
    for (const content of sent) await peer.say(content);
    for (const content of sent) {
      const { content: received } = await run.messages.next(JSON.stringify(content));
      claim(received === content, `"${received}" arrived instead of "${content}"`);
    }
  },

  async "shows sent messages complete, once, in order, under the receipt id"(run) {
    const peer = await run.join();
    const texts = [sample, "x".repeat(20_000), "last"];
    for (const content of texts) {
      const receipt = await send(run, peer, content);
      claim(statuses.includes(receipt.status), `the receipt says "${receipt.status}"`);
      const seen = await peer.sees("create");
      claim(seen.content === content, `the peer saw ${JSON.stringify(seen.content.slice(0, 80))}`);
      claim(seen.id === receipt.id, "the peer saw another id than the receipt names");
    }
  },

  async "keeps sessions apart"(run) {
    const [first, second] = [await run.join(), await run.join()];
    claim(first.session !== second.session, "two peers are in one session");
    await send(run, first, "for the first");
    await send(run, second, "for the second");
    claim(
      (await second.sees("create")).content === "for the second",
      "a peer saw a message of another session",
    );
    claim(
      (await first.sees("create")).content === "for the first",
      "a peer saw a message of another session",
    );
  },

  async "does not report a message without peers as written"(run) {
    const { status } = await send(run, { session: "without-peers" }, "hello").catch(
      (error: unknown) => {
        claim(codeOf(error) === "undeliverable", `it rejected with the code "${codeOf(error)}"`);
        return { status: "undelivered" };
      },
    );
    claim(status === "undelivered" || status === "buffered", `its receipt says "${status}"`);
  },

  async "reports an error if the application rejects a message"(run) {
    const peer = await run.join();
    run.answerWith(() => {
      throw new Error("the application fails");
    });
    // A channel whose peers wait for the reply may reject instead.
    const isRejected = await Promise.resolve(peer.say("hello")).then(
      () => false,
      () => true,
    );
    if (!isRejected) await peer.sees("error");
  },

  async "updates a message in place, up to its final text"(run) {
    if (!run.port.update) return;
    const peer = await run.join();
    const { id } = await send(run, peer, "one");
    await run.channels.update(to(run, peer), id, {
      content: "one two",
    });
    await run.channels.update(to(run, peer), id, {
      content: "one two three",
      final: true,
    });
    for (;;) {
      const seen = await peer.sees("update", "create");
      if (seen.what === "create" && seen.content === "one") continue;
      claim(seen.what === "update" && seen.id === id, "the update arrived as another message");
      if (seen.content === "one two three") break; // A slow peer may miss the previous update.
      claim(seen.content === "one two", `the peer saw ${JSON.stringify(seen.content)}`);
    }
  },

  async "removes a message"(run) {
    if (!run.port.remove) return;
    const peer = await run.join();
    const { id } = await send(run, peer, "to be removed");
    await run.channels.remove(to(run, peer), id);
    claim((await peer.sees("remove")).id === id, "another message was removed");
  },

  async "shows typing, and ignores it in sessions without peers"(run) {
    if (!run.port.typing) return;
    const peer = await run.join();
    run.channels.typing({ ...to(run, peer), session: "without-peers" }, true);
    for (const on of [true, false]) {
      run.channels.typing(to(run, peer), on);
      claim((await peer.sees("typing")).on === on, `typing was not switched ${on ? "on" : "off"}`);
    }
  },

  async "serves the other peers after one has left"(run) {
    const [leaving, staying] = [await run.join(), await run.join()];
    await leaving.leave();
    await send(run, leaving, "hello?").catch(() => undefined);
    await send(run, staying, "still here");
    claim(
      (await staying.sees("create")).content === "still here",
      "the peer that stayed saw another message",
    );
    await staying.say("me too");
    claim(
      (await run.messages.next("its message")).content === "me too",
      "another message was delivered",
    );
  },

  async "stops with connected peers, delivers nothing more, and starts again"(run) {
    const peer = await run.join();
    await run.stop();
    await Promise.resolve()
      .then(() => peer.say("too late"))
      .catch(() => undefined);
    await run.start();
    const again = await run.join();
    await again.say("in time");
    if (run.keeps) {
      const { content } = await run.messages.next("the message sent while it was stopped");
      claim(content === "too late", "the message sent while it was stopped was lost");
    }
    const { content } = await run.messages.next("a message after the second start");
    claim(content === "in time", "the message sent after the stop was delivered");
  },

  async "causes no fault"(run) {
    const peer = await run.join();
    await peer.say("hello");
    await run.messages.next("the message");
    await send(run, peer, "hello");
    await peer.sees("create");
    await peer.leave();
    await run.stop();
    claim(run.faults.length === 0, run.faults.join(", "));
  },
} satisfies Record<string, ConformanceRule>;

/** The name of a rule. */
export type ChannelRule = keyof typeof conformanceRules;

/** The names of all rules. */
export const channelRules = Object.keys(conformanceRules) as readonly ChannelRule[];

/** Options of `runChannelConformance`. */
export interface ChannelConformance<
  L extends readonly AnyPlugin[],
  C extends AnyPlugin = AnyPlugin,
> {
  /** Plugins that start before the channel. The kit provides `channels()` and an application. */
  readonly before?: L & Wired<L>;
  /** The configuration, as in `createKernel`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Connects a new peer, in a session without other peers. */
  join(services: ServicesOf<readonly [...L, C]>): Promise<Peer> | Peer;
  /**
   * Whether a broker or mailbox between the channel and its peers keeps messages while the channel
   * is stopped. If true, they must be delivered after the next start; if false, they must not.
   * @defaultValue False.
   */
  readonly keeps?: boolean;
  /** The rules to check. @defaultValue All rules. */
  readonly rules?: readonly ChannelRule[];
  /** Maximum wait for each event in real milliseconds. @defaultValue 5,000 */
  readonly timeoutMs?: number;
}

/**
 * Checks the channel against the rules, each with a kernel of its own.
 *
 * @throws CHANNEL_NOT_CONFORMING with the broken rules and how they were broken; `details.broken`
 * lists them.
 * @example
 * import { runChannelConformance } from "doorward/testing";
 * await runChannelConformance(udp(), { join: () => connectPeer() });
 */
export async function runChannelConformance<
  const L extends readonly AnyPlugin[] = readonly [],
  C extends AnyPlugin = AnyPlugin,
>(channel: C, options: ChannelConformance<L, C>): Promise<void> {
  const { before = [], config = {}, timeoutMs = 5_000, keeps = false } = options;
  const join = options.join as (services: unknown) => Promise<Peer> | Peer;
  const broken: { rule: ChannelRule; problem: string }[] = [];
  for (const rule of options.rules ?? channelRules) {
    let run: ConformanceRun | undefined;
    try {
      run = await startConformanceRun({
        channel,
        before: before as readonly AnyPlugin[],
        config,
        timeoutMs,
        keeps,
        join,
      });
      await conformanceRules[rule](run);
    } catch (error) {
      broken.push({
        rule,
        problem: error instanceof Error ? error.message.replace(/\.$/, "") : String(error),
      });
    } finally {
      await run?.stop().catch(() => undefined);
    }
  }
  if (broken.length === 0) return;
  const list = broken.map(({ rule, problem }) => `"${rule}": ${problem}`);
  throw testingErrors.CHANNEL_NOT_CONFORMING(channel.name, list, { details: { broken } });
}
