/** Turns the channel on from the chat. @module */
import type { StatusView } from "../../shared/views.ts";
import { toast } from "../frame/toasts.ts";
import { requestAsOwner } from "../live/owner.ts";
import { switchChannel } from "../overview/channel-switch.ts";

/** @returns False if it stays off; a message then says why. */
export async function turnOnChannel(): Promise<boolean> {
  const answer = await requestAsOwner<StatusView>("GET", "/api/status");
  const problem =
    "error" in answer
      ? answer.error.message
      : answer.body.channel?.enabled === false
        ? await switchChannel(answer.body.channel, true)
        : undefined;
  if (problem !== undefined) toast({ text: problem, tone: "bad" });
  return problem === undefined;
}
