// Starts agents in Python and in Node, which use the package of their language.
import { fileURLToPath } from "node:url";
import type { AnyPlugin } from "../../kernel/index.ts";
import type { ChannelAdapter } from "../../plugins/channels/index.ts";
import type { ProgramOptions } from "../../plugins/program/index.ts";
import { startProgram } from "./program-harness.ts";
import { findTool } from "./tools.ts";

export const python = findTool("python");

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A language with a package. */
export type Language = "python" | "js";

/** @returns The command that runs a program, whose text may import the package. */
export function commandOf(language: Language, code: string): ProgramOptions["command"] {
  if (language === "python") return [python ?? "python3", "-c", code];
  // A text of the command line resolves packages from the working directory.
  const url = new URL("../../dist/lib/agent/index.js", import.meta.url).href;
  const program = code.replace('"doorward/agent"', JSON.stringify(url));
  return [process.execPath, "--input-type=module", "-e", program];
}

/** Starts an agent with the channels service and a sample channel. */
export const startAgentProgram = (
  language: Language,
  code: string,
  {
    port = {},
    before = [],
    ...options
  }: Partial<ProgramOptions> & {
    readonly port?: Partial<ChannelAdapter>;
    readonly before?: readonly AnyPlugin[];
  } = {},
) =>
  startProgram(
    "",
    {
      command: commandOf(language, code),
      env: { PATH: process.env["PATH"] ?? "", PYTHONPATH: `${root}python/src` },
      ...options,
    },
    port,
    undefined,
    before,
  );
