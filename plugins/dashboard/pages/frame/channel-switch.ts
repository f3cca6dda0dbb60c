/** Turns the channel on and off. @module */
import type { ChannelView, StatusView } from "../../shared/views.ts";
import { confirm } from "./dialogs.ts";
import { toast } from "./toasts.ts";
import { useAct } from "../live/act.ts";
import { requestAsOwner } from "../live/owner.ts";

const changedMessage =
  "The settings changed in the meantime. The page now shows the new values. Try again.";

/** @returns False if an environment variable or missing settings prevent a change. */
export const canSwitch = ({ enabledManagedBy, etag }: ChannelView): boolean =>
  enabledManagedBy === undefined && etag !== undefined;

/**
 * Turns the channel on or off. Asks first if that disconnects clients.
 *
 * @returns The problem; undefined after success, or if the user cancels.
 */
async function switchChannel(
  { connections, etag = "" }: ChannelView,
  enabled: boolean,
): Promise<string | undefined> {
  const clients = connections === 1 ? "1 client" : `${connections} clients`;
  const isSure =
    enabled ||
    connections === 0 ||
    (await confirm({
      title: "Turn off the channel?",
      text: `This disconnects ${clients}. You can turn it on again. The token does not change.`,
      verb: "Turn off channel",
      danger: true,
    }));
  if (!isSure) return undefined;
  const answer = await requestAsOwner("PUT", "/api/channels/pico", { enabled }, etag);
  if ("error" in answer) return answer.error.status === 412 ? changedMessage : answer.error.message;
  toast({
    text: enabled ? "The channel is on." : "The channel is off. All clients are disconnected.",
  });
  return undefined;
}

/** @param refresh - Loads the channel again. */
export const useChannelSwitch = (channel: ChannelView, refresh: () => Promise<unknown>) =>
  useAct(async (enabled: boolean) => {
    const problem = await switchChannel(channel, enabled);
    await refresh();
    return problem;
  });

/** Turns the channel on. Its present state is loaded first. */
export async function turnOnChannel(): Promise<string | undefined> {
  const answer = await requestAsOwner<StatusView>("GET", "/api/status");
  if ("error" in answer) return answer.error.message;
  const { channel } = answer.body;
  return channel && switchChannel(channel, true);
}
