// The problems of an agent: one sentence for people, and the repair.
import { clip, oneLine } from "./steps.ts";
import type { RpcError } from "../../lib/acp-wire/index.ts";
import type { AgentProblem } from "./service.ts";

const problem = (code: string, sentence: string, fix: string): AgentProblem => ({
  code,
  sentence,
  fix,
});

const needsWord = 'Many agents need a word for the protocol, such as "acp" or "--acp".';

/** The words of an agent as part of a sentence. */
const quoted = (text: string): string => `"${oneLine(text, 300).replace(/\.$/, "")}"`;

export const problems = {
  notFound: (name: string) =>
    problem(
      "agent_not_found",
      `${name} cannot be started: there is no such program.`,
      "Install the agent, or name its file.",
    ),
  notAcp: (name: string) =>
    problem(
      "agent_not_acp",
      `${name} writes text in place of the Agent Client Protocol.`,
      `Run it by hand to read the text. ${needsWord}`,
    ),
  version: (name: string, version: number) =>
    problem(
      "agent_version",
      `${name} speaks version ${version} of the Agent Client Protocol, and Doorward version 1.`,
      "Install a version of the agent that speaks version 1, and restart it on the page Overview.",
    ),
  silent: (name: string, seconds: number) =>
    problem(
      "agent_silent",
      `${name} did not answer within ${seconds} s of its start.`,
      `${needsWord} Read its last lines on the page Overview.`,
    ),
  needsSignIn(name: string, ways: readonly string[]) {
    const known = ways.map((way) => oneLine(way, 200)).filter((way) => way !== "");
    const fix =
      known.length === 0
        ? "Sign in with the agent's own command in a terminal, then send the message again."
        : `In a terminal: ${known.slice(0, 4).join("; or: ")}. Then send the message again.`;
    return problem("agent_needs_sign_in", `${name} is not signed in.`, fix);
  },
  refusesRoot: (name: string) =>
    problem(
      "agent_refuses_root",
      `${name} refuses to work for the user root.`,
      "Run Doorward as an ordinary user.",
    ),
  mode: (name: string, mode: string, offered: readonly string[]) =>
    problem(
      "agent_mode",
      `${name} has no mode "${mode}".`,
      `Set "handler.mode" to one of: ${offered.join(", ") || "none, remove it"}.`,
    ),
  ended: (name: string, how: string) =>
    problem(
      "agent_ended",
      `${name} is not running (${how}).`,
      "Read its last lines on the page Overview, then restart it there.",
    ),
  exit(name: string, how: string, stderr: string | undefined) {
    if (how === "ENOENT") return problems.notFound(name);
    if (isAboutRoot(stderr)) return problems.refusesRoot(name);
    const words = stderr === undefined ? "" : ` Its last line: ${quoted(stderr)}.`;
    return problem(
      "agent_ended",
      `${name} ended when it started (${clip(how, 200)}).${words}`,
      "Run the command by hand, and repair what it says.",
    );
  },
};

const isAboutRoot = (text: string | undefined): boolean =>
  process.getuid?.() === 0 && text !== undefined && /\broot\b|\bsudo\b/i.test(text);

/** @returns The words of an error of the agent; some have their reason in the data. */
export function wordsOf({ message, data }: RpcError): string {
  const { details, message: inner } = Object(data) as Record<string, unknown>;
  const reason = [data, details, inner].find((value) => typeof value === "string");
  return oneLine(reason === undefined ? message : `${message}: ${reason as string}`, 500);
}

/** @returns The problem behind an error of the agent when it starts, or begins a session. */
export function refusal(name: string, message: string): AgentProblem {
  if (isAboutRoot(message)) return problems.refusesRoot(name);
  return problem(
    "agent_refused",
    `${name} could not begin: ${quoted(message)}.`,
    "Repair what it says, then send the message again.",
  );
}
