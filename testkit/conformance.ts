// Checks a channel against the rules that every channel must keep.
import type { AnyPlugin, ServicesOf, Wired } from "../kernel/index.ts";
import type { ChannelCapabilities } from "./capabilities.ts";
import { testingErrors } from "./errors.ts";
import {
  startConformanceRun,
  type ConformanceRun,
  type ConformanceRunOptions,
  type Peer,
  type Stranger,
} from "./rig.ts";
import { inboundRules } from "./rules/inbound.ts";
import { lifeRules } from "./rules/life.ts";
import { outboundRules } from "./rules/outbound.ts";
import { questionRules } from "./rules/questions.ts";
import { trustRules } from "./rules/trust.ts";
import { wireRules } from "./rules/wire.ts";

/** Each rule runs with a kernel of its own. The names are part of the public interface. */
const conformanceRules = {
  ...lifeRules,
  ...inboundRules,
  ...outboundRules,
  ...questionRules,
  ...wireRules,
  ...trustRules,
};

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
   * Connects without permission: with a wrong token, or as a user that is not on the allowlist. It
   * may reject. If it returns a stranger, the stranger says something, which must not arrive.
   * Required unless the capability `authentication` is false.
   */
  intrude?(services: ServicesOf<readonly [...L, C]>): Promise<Stranger | void> | Stranger | void;
  /**
   * Properties of the network, to which the rules adapt.
   * @defaultValue A network that does everything; see `ChannelCapabilities`.
   */
  readonly capabilities?: ChannelCapabilities;
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
 * await runChannelConformance(udp(), {
 *   join: () => connectPeer(),
 *   capabilities: { authentication: false, presence: false },
 * });
 */
export async function runChannelConformance<
  const L extends readonly AnyPlugin[] = readonly [],
  C extends AnyPlugin = AnyPlugin,
>(channel: C, options: ChannelConformance<L, C>): Promise<void> {
  const { before = [], config = {}, timeoutMs = 5_000, capabilities = {} } = options;
  const given = { ...options, channel, before, config, timeoutMs, capabilities };
  const broken: { rule: ChannelRule; problem: string }[] = [];
  for (const rule of options.rules ?? channelRules) {
    let run: ConformanceRun | undefined;
    let problem: string | undefined;
    try {
      run = await startConformanceRun(given as unknown as ConformanceRunOptions);
      await conformanceRules[rule](run);
    } catch (error) {
      problem = error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
    } finally {
      await run?.stop().catch(() => undefined);
      await new Promise((resolve) => void setImmediate(resolve)); // Node reports rejections before.
      problem = run?.unhandled() ?? problem;
      run?.end();
    }
    if (problem !== undefined) broken.push({ rule, problem });
  }
  if (broken.length === 0) return;
  const list = broken.map(({ rule, problem }) => `"${rule}": ${problem}`);
  throw testingErrors.CHANNEL_NOT_CONFORMING(channel.name, list, { details: { broken } });
}
