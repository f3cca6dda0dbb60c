// Writes one turn as a section of a Markdown document.
import type { Media } from "./messages.ts";
import type { Turn } from "./contract.ts";
import { readCalls, type TurnCall } from "./turn-calls.ts";
import { turnLabel } from "./turn-label.ts";

/** Characters of the arguments or the result of a tool call. The JSON document has all of them. */
const maxCallText = 2_000;

export const escapeMarkdown = (text: string): string => text.replace(/[\\`*_[\]<>#|]/g, "\\$&");

/** Data URLs are left out: the JSON document has them. */
function mediaLine({ type, url = "", filename }: Media): string {
  const name = escapeMarkdown(filename ?? type);
  return /^https?:[^\s<>]*$/.test(url) ? `\n[${name}](<${url}>)\n` : `\n(${name})\n`;
}

/** The fence is longer than every run of backticks in the text. */
function codeBlock(text: string): string {
  const runs = text.match(/`+/g) ?? [];
  const fence = "`".repeat(runs.reduce((length, run) => Math.max(length, run.length + 1), 3));
  return `${fence}\n${text}\n${fence}\n`;
}

/** A surrogate pair is not divided. */
function callText(text: string): string {
  if (text.length <= maxCallText) return codeBlock(text);
  const start = text.slice(0, maxCallText).replace(/[\uD800-\uDBFF]$/, "");
  return `${codeBlock(start)}\n(${text.length - start.length} more characters)\n`;
}

function callSection({ name, arguments: given, result, error }: TurnCall): string {
  const output = error ?? result;
  const label = error === undefined ? "Result" : "Error";
  return (
    `\n**${escapeMarkdown(name.replace(/\s+/g, " "))}**\n` +
    (given === "" ? "" : `\n${callText(given)}`) +
    (output === undefined ? "" : `\n${label}:\n\n${callText(output)}`)
  );
}

export function toSection(turn: Turn): string {
  const { content, attachments = [], complete, at } = turn;
  const end = complete === false ? "\n(incomplete)\n" : "";
  const heading = `\n## ${escapeMarkdown(turnLabel(turn))}, ${new Date(at).toISOString()}\n`;
  const calls = readCalls(turn).map(callSection);
  const text = content === "" && calls.length > 0 ? "" : `\n${content}\n`;
  return `${heading}${text}${calls.join("")}${attachments.map(mediaLine).join("")}${end}`;
}
