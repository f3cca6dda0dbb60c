import type { AnyPlugin, ServicesOf, Wired } from "../kernel/index.ts";
import { testingErrors } from "./errors.ts";
import type { Peer } from "./peer.ts";
import { startConformanceRun, type ConformanceRun } from "./rig.ts";
import { conformanceRules, type ChannelRule } from "./rules.ts";

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
    let rig: ConformanceRun | undefined;
    try {
      rig = await startConformanceRun({
        channel,
        before: before as readonly AnyPlugin[],
        config,
        patienceMs,
        keeps,
        join,
      });
      await conformanceRules[rule](rig);
    } catch (error) {
      broken.push({
        rule,
        problem: error instanceof Error ? error.message.replace(/\.$/, "") : String(error),
      });
    } finally {
      await rig?.stop().catch(() => undefined);
    }
  }
  if (broken.length === 0) return;
  const list = broken.map(({ rule, problem }) => `"${rule}": ${problem}`);
  throw testingErrors.CHANNEL_NOT_CONFORMING(channel.name, list, { details: { broken } });
}
