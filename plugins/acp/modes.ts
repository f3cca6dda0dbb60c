// Finds the modes of an agent, and the one that a session begins in.
import type { ConfigOption, SessionResult } from "../../lib/acp-wire/index.ts";
import type { AgentMode } from "./service.ts";

/** Words in the id or the name of a mode in which the agent asks less, or not at all. */
const risky = /bypass|yolo|full|auto|dont[ -]?ask|don't ask/i;
/** Ids of modes in which agents ask. */
const asking = ["default", "ask", "manual"];

/** The modes of one session. */
export interface SessionModes {
  readonly current: string;
  readonly all: readonly AgentMode[];
  /** The configuration option that sets the mode; undefined if the agent has a method for it. */
  readonly option: string | undefined;
}

const toMode = (id: string, name: string): AgentMode => ({
  id,
  name: name || id,
  isRisky: risky.test(id) || risky.test(name),
});

/** @returns The modes among configuration options. */
export function modesInOptions(options: readonly ConfigOption[] = []): SessionModes | undefined {
  const found = options.find(({ category }) => category === "mode");
  if (found?.currentValue === undefined) return undefined;
  const values = (found.options ?? []).flatMap((item) =>
    "options" in item ? item.options : [item],
  );
  const all = values.map(({ value, name }) => toMode(value, name));
  return { current: found.currentValue, all, option: found.id };
}

/** @returns The modes in the answer to a new or continued session; undefined without any. */
export function modesIn({ modes, configOptions }: SessionResult): SessionModes | undefined {
  const inOptions = modesInOptions(configOptions);
  if (inOptions || !modes) return inOptions;
  const all = modes.availableModes.map(({ id, name }) => toMode(id, name));
  return { current: modes.currentModeId, all, option: undefined };
}

/**
 * @param configured - The mode of the settings.
 * @returns The mode to set, or undefined to leave it.
 */
export function wantedMode(
  { current, all }: SessionModes,
  configured: string | undefined,
): string | undefined {
  const ids = all.map(({ id }) => id);
  const wanted = configured ?? asking.find((id) => ids.includes(id));
  return wanted === undefined || wanted === current ? undefined : wanted;
}
