/** Why a channel rejects all connections. @module */
import type { ChannelView } from "./views.ts";

/**
 * `no_channel`: none is loaded. `not_found`: it is off. `channel_managed`: it is off, and the
 * dashboard cannot turn it on.
 */
export type ChannelProblem = "no_channel" | "not_found" | "channel_managed";

/** @returns Undefined while the channel is on. */
export function channelProblemOf(channel: ChannelView | undefined): ChannelProblem | undefined {
  if (!channel) return "no_channel";
  if (channel.enabled) return undefined;
  const canTurnOn = channel.enabledManagedBy === undefined && channel.etag !== undefined;
  return canTurnOn ? "not_found" : "channel_managed";
}
