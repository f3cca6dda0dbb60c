/** The channels of other authors, for pages, commands and metrics. @module */
import type { AttachedChannel } from "../../../channels/index.ts";
import type { Address } from "../../../conversations/contract.ts";
import type { ServiceContext } from "../context.ts";
import type { ConversationView } from "../../shared/conversation-views.ts";

/** The channel whose clients are listed with their connections. */
const ownChannel = "pico";
/** The channel of the plugin `pico-client`, which every launcher has. */
const linkChannel = "pico_client";

/** @returns The channels but `pico`, and the link to another server once it was used. */
export function otherChannels({
  channels,
}: Pick<ServiceContext, "channels">): readonly AttachedChannel[] {
  const isShown = ({ name, received, sent }: AttachedChannel): boolean =>
    name !== ownChannel && (name !== linkChannel || received + sent > 0);
  return channels?.list().filter(isShown) ?? [];
}

/** @returns The names of channels whose messages are not in the conversations. */
export const unkeptChannels = (services: ServiceContext): readonly string[] =>
  otherChannels(services).flatMap(({ name, isKept }) => (isKept ? [] : [name]));

/** @returns What the owner can do in a session of another channel. */
export function consoleAccess(
  { channels }: ServiceContext,
  { channel, session }: Address,
): Pick<ConversationView, "acceptsConsole" | "isBusy"> {
  if (!channels || channel === ownChannel) return {};
  const found = channels.list().find(({ name }) => name === channel);
  const isBusy = channels.busySessions(channel).includes(session);
  return { ...(found?.acceptsConsole && { acceptsConsole: true }), ...(isBusy && { isBusy }) };
}
