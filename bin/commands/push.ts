// `doorward push`: the devices that receive notifications, and a test of them.
import { formatUtc } from "../../lib/util.ts";
import { sanitizeLine } from "../client/text.ts";
import { exitCodes, printJson, UsageError, type CommandContext } from "./command.ts";
import { askAndUse } from "./control-client.ts";

interface DeviceView {
  readonly id: string;
  readonly userAgent: string;
  readonly createdAt?: number;
  readonly lastAt?: number;
  readonly outcome?: "sent" | "gone" | "failed" | "limited";
  readonly problem?: string;
}

const outcomes = {
  sent: "the push service has accepted it",
  gone: "removed",
  failed: "not sent",
  limited: "not sent",
} as const;

function stateOf({ createdAt, lastAt, outcome, problem }: DeviceView): string {
  const why = problem === undefined ? "" : `: ${problem}`;
  if (outcome !== undefined) return `${outcomes[outcome]}${why}`;
  const last = lastAt === undefined ? "" : `, last one ${formatUtc(lastAt)}`;
  const lost = problem === undefined ? "" : `, not sent${why}`;
  return `since ${formatUtc(createdAt ?? 0)}${last}${lost}`;
}

const howTo = "open Settings, then Notifications, in the browser that shall receive them";

export async function push(context: CommandContext): Promise<number> {
  const [word, ...more] = context.words;
  if ((word !== undefined && word !== "test") || more.length > 0)
    throw new UsageError('"push" takes "test" or nothing');
  const body = { test: word === "test" };
  return askAndUse<{ devices: readonly DeviceView[] }>(
    context,
    ["POST", "x/push", body],
    ({ devices }) => {
      if (context.json) printJson(context, { devices });
      else
        for (const device of devices)
          context.out(`${sanitizeLine(device.userAgent)}\n  ${stateOf(device)}\n`);
      if (devices.length === 0) context.say(`no device receives notifications: ${howTo}\n`);
      const isReached = devices.every(({ outcome }) => outcome === undefined || outcome === "sent");
      return isReached ? exitCodes.done : exitCodes.failed;
    },
  );
}
