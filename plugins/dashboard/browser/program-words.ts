/** What the program's card says. Pure: the server writes the first state with it, the script each later one. */
import type { ProgramView } from "../status.ts";
import { formatCount } from "./format.ts";

type Tone = "ok" | "warn" | "bad";

const programStates: Readonly<Record<ProgramView["state"], { text: string; tone: Tone }>> = {
  running: { text: "Running", tone: "ok" },
  waiting: { text: "Starts again soon", tone: "warn" },
  ended: { text: "Ended", tone: "bad" },
  stopped: { text: "Stopped", tone: "warn" },
};

export const programState = (state: ProgramView["state"]): { text: string; tone: Tone } =>
  programStates[state];

/** Names and values of the facts. */
export function programFacts(program: ProgramView): [name: string, value: string][] {
  const { pid, restarts, lastEnd, inWork, queued, answered, failed } = program;
  return [
    ...(pid === undefined ? [] : [["Process", String(pid)] as [string, string]]),
    [
      "Restarts",
      lastEnd === undefined
        ? formatCount(restarts)
        : `${formatCount(restarts)}, last end: ${lastEnd}`,
    ],
    ["Messages", `${formatCount(answered)} answered, ${formatCount(failed)} failed`],
    ["Now", `${formatCount(inWork)} in work, ${formatCount(queued)} waiting`],
  ];
}
