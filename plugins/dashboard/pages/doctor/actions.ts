// Acts of the doctor page that fix a finding on the server.
import type { ChannelsView, CheckView } from "../../shared/views.ts";
import type { ApiResult } from "../live/api.ts";
import { requestAsOwner } from "../live/owner.ts";

type Action = NonNullable<CheckView["action"]>;

/** A button of a finding. */
interface Fix {
  readonly name: string;
  /** Text of the button while it runs. */
  readonly busy: string;
  /** Text of the toast afterwards. */
  readonly done: string;
  /** @returns The problem; undefined after success. */
  readonly run: () => Promise<string | undefined>;
}

export const fixes: Readonly<Record<Action, Fix>> = {
  "restart-program": {
    name: "Restart the program",
    busy: "Restarting…",
    done: "The program restarts",
    run: async () => problemOf(await requestAsOwner("POST", "/api/program/restart")),
  },
  "turn-on-channel": {
    name: "Turn on the channel",
    busy: "Turning on…",
    done: "The channel is on",
    run: turnOnChannel,
  },
};

const problemOf = (answer: ApiResult<unknown>): string | undefined =>
  "error" in answer ? answer.error.message : undefined;

async function turnOnChannel(): Promise<string | undefined> {
  const found = await requestAsOwner<ChannelsView>("GET", "/api/channels");
  if ("error" in found) return found.error.message;
  const etag = found.body.channels.find(({ name }) => name === "pico")?.etag;
  return problemOf(
    await requestAsOwner("PUT", "/api/channels/pico", { enabled: true }, etag ?? ""),
  );
}
