// Writes the man page from the help texts.
import type { Command } from "../commands/command.ts";

interface ManPageOptions {
  readonly version: string;
  readonly commands: Readonly<Record<string, Command>>;
  readonly launcher: Command["usage"];
  readonly common: Command["usage"];
  readonly exitCodes: readonly (readonly [code: number, meaning: string])[];
}

/** A dash that can be searched and copied, and no request at the start of a line. */
const escaped = (text: string): string =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/, "\\&$1");

const paragraphs = (rows: Command["usage"]): string =>
  rows
    .map(([words, does]) => `.TP\n\\fB${escaped(words.trim())}\\fR\n${escaped(does)}.`)
    .join("\n");

/** @returns The page `doorward(1)` in the macros of man(7). */
export function manPage({
  version,
  commands,
  launcher,
  common,
  exitCodes,
}: ManPageOptions): string {
  const usage = Object.values(commands).flatMap((command) => command.usage);
  return `.TH DOORWARD 1 "" "doorward ${version}" "User Commands"
.SH NAME
doorward \\- make a program reachable by a dashboard, a channel and a client
.SH SYNOPSIS
.B doorward
[\\fIconfig.json\\fR] [\\fIoptions\\fR]
.br
.B doorward run
[\\fIoptions\\fR] \\-\\- \\fIPROGRAM\\fR [\\fIARGUMENT\\fR]...
.br
.B doorward
\\fICOMMAND\\fR [\\fIoptions\\fR]
.SH DESCRIPTION
Without a command, doorward starts the launcher: the dashboard and, if enabled, the pico channel.
The command run also starts a program that answers messages.
Options start with one or two dashes.
.SH OPTIONS
${paragraphs(launcher)}
.SH COMMANDS
${paragraphs(usage)}
.SS Options of every command
${paragraphs(common)}
.SH EXIT STATUS
${exitCodes.map(([code, meaning]) => `.TP\n${code}\n${escaped(meaning)}.`).join("\n")}
.SH ENVIRONMENT
.TP
SERVICE_HOME
The folder of all files (default ~/.service).
.SH FILES
.TP
~/.service/launcher\\-config.json
Settings of the launcher.
.TP
~/.service/config.json
Settings of channels and programs.
.TP
~/.service/.security.yml
Tokens of channels.
`;
}
