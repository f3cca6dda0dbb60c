/** What the program's card says. Pure: the server writes the first state with it, the script each later one. */
import type { ProgramView } from "../status.ts";
import { count } from "./format.ts";

type Tone = "ok" | "warn" | "bad";

const states: Readonly<Record<ProgramView["state"], { text: string; tone: Tone }>> = {
  running: { text: "Running", tone: "ok" },
  waiting: { text: "Starts again soon", tone: "warn" },
  ended: { text: "Ended", tone: "bad" },
  stopped: { text: "Stopped", tone: "warn" },
};

export const programState = (state: ProgramView["state"]): { text: string; tone: Tone } =>
  states[state];

/** Names and values of the facts. */
export function programFacts(program: ProgramView): [name: string, value: string][] {
  const { pid, restarts, lastEnd, inWork, queued, answered, failed } = program;
  return [
    ...(pid === undefined ? [] : [["Process", String(pid)] as [string, string]]),
    [
      "Restarts",
      lastEnd === undefined ? count(restarts) : `${count(restarts)}, last end: ${lastEnd}`,
    ],
    ["Messages", `${count(answered)} answered, ${count(failed)} failed`],
    ["Now", `${count(inWork)} in work, ${count(queued)} waiting`],
  ];
}
