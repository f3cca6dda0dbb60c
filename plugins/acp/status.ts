// Says how the agent is, for the overview, the doctor and the chat page.
import { defined } from "../../lib/util.ts";
import type { ApplicationStatus } from "../channels/index.ts";
import type { ProcessState } from "../../lib/child-process/index.ts";
import { clip } from "./steps.ts";
import type { AgentStatus } from "./service.ts";

const maxModes = 32;
const maxName = 80;
const maxText = 500;

const commandName = /^[^\s/\p{Cc}][^\s\p{Cc}]{0,63}$/u;
const isShortId = (id: string): boolean => id.trim() !== "" && id.length <= 64;

const riskyMode = (name: string): string =>
  `The agent is in the mode "${name}", in which it may act without asking.`;

/** Problems that a person repairs outside of Doorward, while the agent runs. */
const needsAction: ReadonlySet<string> = new Set(["agent_needs_sign_in", "agent_mode"]);

function stateOf(
  { problem, name }: AgentStatus,
  process: ProcessState,
): ApplicationStatus["state"] {
  if (problem) return needsAction.has(problem.code) ? "needs_action" : "failed";
  return name === undefined && process !== "ended" ? "starting" : "ready";
}

/** @returns The status in the form that all applications share. */
export function toApplicationStatus(status: AgentStatus, process: ProcessState): ApplicationStatus {
  const { name, version, problem, mode, modes, commands, asked, unasked } = status;
  const risk = mode?.isRisky === true ? riskyMode(mode.name) : undefined;
  return defined({
    state: stateOf(status, process),
    name: name === undefined ? undefined : clip([name, version].filter(Boolean).join(" "), maxName),
    message: clip(problem?.sentence ?? risk ?? "", maxText) || undefined,
    fix: problem && clip(problem.fix, maxText),
    mode: mode && isShortId(mode.id) ? mode.id : undefined,
    modes: modes
      .filter(({ id }) => isShortId(id))
      .slice(0, maxModes)
      .map(({ id, name, isRisky }) => ({
        id,
        name: clip(name, maxName),
        ...(isRisky && { unguarded: true }),
      })),
    commands: commands.filter(({ name }) => commandName.test(name)),
    counts: [
      { label: "Asked", value: asked },
      { label: "Ran without asking", value: unasked },
    ],
  });
}
