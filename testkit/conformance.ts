import { codeOf, type AnyPlugin, type ServicesOf, type Wired } from "../kernel/index.ts";
import type { Receipt } from "../plugins/channels/index.ts";
import { testingErrors } from "./errors.ts";
import { startConformanceRun, type ConformanceRun, type ObservedPeer, type Peer } from "./rig.ts";

/** Rejects when the channel breaks the rule; the error's message says how. */
type ConformanceRule = (conformanceRun: ConformanceRun) => Promise<void>;

const statuses: readonly string[] = ["written", "buffered", "delivered", "undelivered"];
const sample = 'Grüße\n  \u{1F600} <b>&amp;\u2028"quoted"\\ ';

function claim(holds: boolean, problem: string): asserts holds {
  if (!holds) throw new Error(problem);
}

const to = (conformanceRun: ConformanceRun, { session }: Pick<ObservedPeer, "session">) => ({
  channel: conformanceRun.port.name,
  session,
});
const send = (
  conformanceRun: ConformanceRun,
  guest: Pick<ObservedPeer, "session">,
  content: string,
): Promise<Receipt> => conformanceRun.channels.send(to(conformanceRun, guest), { content });

/** Each rule runs on a start of its own. The names are part of the kit's interface. */
export const conformanceRules = {
  async "attaches one port and lets go of it when it stops"(conformanceRun) {
    claim(conformanceRun.ports.length === 1, `it attached ${conformanceRun.ports.length} ports`);
    claim(
      /^[a-z][a-z0-9_]*$/.test(conformanceRun.port.name),
      `"${conformanceRun.port.name}" is not a name of a channel`,
    );
    await conformanceRun.stop();
    claim(conformanceRun.attached() === 0, "it did not close its inlet");
  },

  async "hands over what a peer says: whole, once, with a name and a time"(conformanceRun) {
    const observedPeer = await conformanceRun.join();
    const since = Date.now();
    await observedPeer.say(sample);
    await observedPeer.say("next");
    const [first, second] = [
      await conformanceRun.messages.next("the message"),
      await conformanceRun.messages.next("the next message"),
    ];
    const change = `it changed the text ${JSON.stringify(sample)} to ${JSON.stringify(first.content)}`;
    claim(first.content === sample, change);
    claim(
      second.content === "next",
      `it handed over ${JSON.stringify(second.content)} in place of the next message`,
    );
    claim(first.session === observedPeer.session, "the message came from another session");
    claim(first.id !== "" && first.id !== second.id, "two messages have one id");
    claim(Math.abs(first.at - since) < 3_600_000, "the time is not in Unix milliseconds");
    claim(Array.isArray(first.media) && first.hops >= 0, "media or hops are missing");
  },

  async "keeps the order of what a peer says"(conformanceRun) {
    const observedPeer = await conformanceRun.join();
    const said = Array.from({ length: 20 }, (_, at) => `message ${at}`);
    for (const content of said) await observedPeer.say(content);
    for (const content of said) {
      const { content: came } = await conformanceRun.messages.next(JSON.stringify(content));
      claim(came === content, `"${came}" came in place of "${content}"`);
    }
  },

  async "shows a peer what is sent: whole, once, in order, under the receipt's id"(conformanceRun) {
    const observedPeer = await conformanceRun.join();
    const texts = [sample, "x".repeat(20_000), "last"];
    for (const content of texts) {
      const receipt = await send(conformanceRun, observedPeer, content);
      claim(statuses.includes(receipt.status), `the receipt says "${receipt.status}"`);
      const seen = await observedPeer.sees("create");
      claim(seen.content === content, `the peer saw ${JSON.stringify(seen.content.slice(0, 80))}`);
      claim(seen.id === receipt.id, "the peer saw another id than the receipt names");
    }
  },

  async "keeps sessions apart"(conformanceRun) {
    const [one, other] = [await conformanceRun.join(), await conformanceRun.join()];
    claim(one.session !== other.session, "two peers are in one session");
    await send(conformanceRun, one, "for one");
    await send(conformanceRun, other, "for the other");
    claim(
      (await other.sees("create")).content === "for the other",
      "a peer saw a message of another session",
    );
    claim(
      (await one.sees("create")).content === "for one",
      "a peer saw a message of another session",
    );
  },

  async "does not claim to have written to a session where nobody is"(conformanceRun) {
    const { status } = await send(conformanceRun, { session: "nobody-is-here" }, "hello").catch(
      (error: unknown) => {
        claim(codeOf(error) === "undeliverable", `it rejected with the code "${codeOf(error)}"`);
        return { status: "undelivered" };
      },
    );
    claim(status === "undelivered" || status === "buffered", `its receipt says "${status}"`);
  },

  async "tells a peer when the application could not take its message"(conformanceRun) {
    const observedPeer = await conformanceRun.join();
    conformanceRun.answerWith(() => {
      throw new Error("the application fails");
    });
    // A channel whose peers wait for the answer may reject instead.
    const refused = await Promise.resolve(observedPeer.say("hello")).then(
      () => false,
      () => true,
    );
    if (!refused) await observedPeer.sees("error");
  },

  async "updates a message in place, up to its last text"(conformanceRun) {
    if (!conformanceRun.port.update) return;
    const observedPeer = await conformanceRun.join();
    const { id } = await send(conformanceRun, observedPeer, "one");
    await conformanceRun.channels.update(to(conformanceRun, observedPeer), id, {
      content: "one two",
    });
    await conformanceRun.channels.update(to(conformanceRun, observedPeer), id, {
      content: "one two three",
      final: true,
    });
    for (;;) {
      const seen = await observedPeer.sees("update", "create");
      if (seen.what === "create" && seen.content === "one") continue;
      claim(seen.what === "update" && seen.id === id, "the update came as another message");
      if (seen.content === "one two three") break; // the one before may be left out for a slow peer
      claim(seen.content === "one two", `the peer saw ${JSON.stringify(seen.content)}`);
    }
  },

  async "removes a message"(conformanceRun) {
    if (!conformanceRun.port.remove) return;
    const observedPeer = await conformanceRun.join();
    const { id } = await send(conformanceRun, observedPeer, "soon gone");
    await conformanceRun.channels.remove(to(conformanceRun, observedPeer), id);
    claim((await observedPeer.sees("remove")).id === id, "another message was removed");
  },

  async "shows typing, and is silent about it where nobody is"(conformanceRun) {
    if (!conformanceRun.port.typing) return;
    const observedPeer = await conformanceRun.join();
    conformanceRun.channels.typing(
      { ...to(conformanceRun, observedPeer), session: "nobody-is-here" },
      true,
    );
    for (const on of [true, false]) {
      conformanceRun.channels.typing(to(conformanceRun, observedPeer), on);
      claim(
        (await observedPeer.sees("typing")).on === on,
        `typing was not switched ${on ? "on" : "off"}`,
      );
    }
  },

  async "serves the others when one peer has gone"(conformanceRun) {
    const [gone, stays] = [await conformanceRun.join(), await conformanceRun.join()];
    await gone.leave();
    await send(conformanceRun, gone, "hello?").catch(() => undefined);
    await send(conformanceRun, stays, "still here");
    claim(
      (await stays.sees("create")).content === "still here",
      "the peer that stayed saw another message",
    );
    await stays.say("me too");
    claim(
      (await conformanceRun.messages.next("what it says")).content === "me too",
      "another message was handed over",
    );
  },

  async "stops while peers are there, hands over nothing more, and can start again"(
    conformanceRun,
  ) {
    const observedPeer = await conformanceRun.join();
    await conformanceRun.stop();
    await Promise.resolve()
      .then(() => observedPeer.say("too late"))
      .catch(() => undefined);
    await conformanceRun.start();
    const again = await conformanceRun.join();
    await again.say("in time");
    if (conformanceRun.keeps) {
      const { content } = await conformanceRun.messages.next("what was said while it was stopped");
      claim(content === "too late", "what was said while it was stopped was lost");
    }
    const { content } = await conformanceRun.messages.next("a message after the second start");
    claim(content === "in time", "what was said after the stop was handed over");
  },

  async "causes no fault"(conformanceRun) {
    const observedPeer = await conformanceRun.join();
    await observedPeer.say("hello");
    await conformanceRun.messages.next("the message");
    await send(conformanceRun, observedPeer, "hello");
    await observedPeer.sees("create");
    await observedPeer.leave();
    await conformanceRun.stop();
    claim(conformanceRun.faults.length === 0, conformanceRun.faults.join(", "));
  },
} satisfies Record<string, ConformanceRule>;

export type ChannelRule = keyof typeof conformanceRules;

export const channelRules = Object.keys(conformanceRules) as readonly ChannelRule[];

export interface ChannelConformance<
  L extends readonly AnyPlugin[],
  C extends AnyPlugin = AnyPlugin,
> {
  /** Started before the channel; `channels()` and an application come from the kit. */
  readonly before?: L & Wired<L>;
  /** For the kernel, as `createKernel` takes it. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** A new peer, in a session that nobody else is in. */
  join(services: ServicesOf<readonly [...L, C]>): Promise<Peer> | Peer;
  /** Something between the channel and its peers keeps what they say while the channel is stopped: a broker, a mailbox.
   *  Then it has to be handed over after the next start; default false: nothing of it may be. */
  readonly keeps?: boolean;
  /** Default: all of them. */
  readonly rules?: readonly ChannelRule[];
  /** Longest wait for anything, in real milliseconds; default 5,000. */
  readonly patienceMs?: number;
}

/** Runs the channel against every rule, each with a start of its own. Rejects `CHANNEL_NOT_CONFORMING`, which names the
 *  broken rules and how they were broken; `details.broken` lists them. */
export async function runChannelConformance<
  const L extends readonly AnyPlugin[] = readonly [],
  C extends AnyPlugin = AnyPlugin,
>(channel: C, options: ChannelConformance<L, C>): Promise<void> {
  const { before = [], config = {}, patienceMs = 5_000, keeps = false } = options;
  const join = options.join as (services: unknown) => Promise<Peer> | Peer;
  const broken: { rule: ChannelRule; problem: string }[] = [];
  for (const rule of options.rules ?? channelRules) {
    let conformanceRun: ConformanceRun | undefined;
    try {
      conformanceRun = await startConformanceRun({
        channel,
        before: before as readonly AnyPlugin[],
        config,
        patienceMs,
        keeps,
        join,
      });
      await conformanceRules[rule](conformanceRun);
    } catch (error) {
      broken.push({
        rule,
        problem: error instanceof Error ? error.message.replace(/\.$/, "") : String(error),
      });
    } finally {
      await conformanceRun?.stop().catch(() => undefined);
    }
  }
  if (broken.length === 0) return;
  const list = broken.map(({ rule, problem }) => `"${rule}": ${problem}`);
  throw testingErrors.CHANNEL_NOT_CONFORMING(channel.name, list, { details: { broken } });
}
