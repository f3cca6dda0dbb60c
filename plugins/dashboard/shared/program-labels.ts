// Labels of the program that answers.
import type { ProgramView } from "./views.ts";
import { formatCount } from "./format.ts";

type BadgeTone = "ok" | "warn" | "bad";

const programStates: Readonly<Record<ProgramView["state"], { text: string; tone: BadgeTone }>> = {
  running: { text: "Running", tone: "ok" },
  waiting: { text: "Restarting soon", tone: "warn" },
  ended: { text: "Exited", tone: "bad" },
  stopped: { text: "Stopped", tone: "warn" },
};

export const programState = (state: ProgramView["state"]): { text: string; tone: BadgeTone } =>
  programStates[state];

/** Returns the rows of the program card as names and values. */
export function programDetails(program: ProgramView): [name: string, value: string][] {
  const { pid, restarts, lastEnd, inWork, queued, answered, failed, stopped } = program;
  const settled = [
    `${formatCount(answered)} answered`,
    `${formatCount(failed)} failed`,
    ...(stopped > 0 ? [`${formatCount(stopped)} stopped`] : []),
  ];
  return [
    ...(pid === undefined ? [] : [["Process", String(pid)] as [string, string]]),
    [
      "Restarts",
      lastEnd === undefined
        ? formatCount(restarts)
        : `${formatCount(restarts)}, last exit: ${lastEnd}`,
    ],
    ["Messages", settled.join(", ")],
    ["Now", `${formatCount(inWork)} in progress, ${formatCount(queued)} queued`],
    ["Stop", program.knowsStop ? "Supported" : "Not supported by this program"],
  ];
}

/** Describes the stops that the program ignored; empty if there are none. */
export function stopTimeoutLabel({ stopTimeouts }: Pick<ProgramView, "stopTimeouts">): string {
  if (stopTimeouts === 0) return "";
  const replies =
    stopTimeouts === 1 ? "a stopped reply" : `${formatCount(stopTimeouts)} stopped replies`;
  return `The program has not ended ${replies} in time. Its output about them is dropped.`;
}
