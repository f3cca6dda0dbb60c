// Reads the filter of the page: words and `key:value` terms that a log line must all match.
import { logLevels, type LogLevel, type LogLineView } from "../../shared/views.ts";

interface Term {
  /** Lower case; undefined for a word that may occur anywhere in the line. */
  readonly key?: string;
  /** Lower case. */
  readonly value: string;
}

/** A parsed filter. */
interface LogFilter {
  readonly terms: readonly Term[];
  /** Text to mark in the lines. */
  readonly marks: readonly string[];
}

/** Filter key -> fields of a line. Other keys name a field by themselves. */
const fieldsByKey: Readonly<Record<string, readonly string[]>> = {
  address: ["ip", "address"],
  conversation: ["conversation", "session"],
  request: ["request_id", "id", "connection"],
  source: ["plugin", "name"],
};

/** Parses a filter. A value in quotation marks may contain spaces: `text:"wrong token"`. */
export function parseFilter(text: string): LogFilter {
  const terms = [...text.matchAll(/(?:([a-z_]+):)?(?:"([^"]*)"|(\S+))/giu)]
    .map(([, key, quoted, plain]): Term => {
      const value = (quoted ?? plain ?? "").toLowerCase();
      return key === undefined ? { value } : { key: key.toLowerCase(), value };
    })
    .filter(({ value }) => value !== "");
  const marks = terms.filter(({ key }) => key === undefined || key === "text");
  return { terms, marks: marks.map(({ value }) => value) };
}

/**
 * Returns the text that the server looks for before the page filters its response. A level is not
 * part of the text of a line.
 */
export function searchText({ terms }: LogFilter): string {
  const texts = terms.filter(({ key }) => key !== "level").map(({ value }) => value);
  return texts.reduce((longest, text) => (text.length > longest.length ? text : longest), "");
}

/** True if the line matches every term. */
export const matches = ({ terms }: LogFilter, line: LogLineView): boolean =>
  terms.every((term) => matchesTerm(term, line));

function matchesTerm({ key, value }: Term, line: LogLineView): boolean {
  if (key === undefined) return textOf(line).includes(value);
  if (key === "text") return line.text.toLowerCase().includes(value);
  if (key === "level") return levelLooks[line.level][0].startsWith(value);
  const fields = Object.hasOwn(fieldsByKey, key) ? fieldsByKey[key]! : [key];
  return fields.some((field) => {
    const found = Object.hasOwn(line.fields, field) ? line.fields[field] : undefined;
    return found !== undefined && plain(found).toLowerCase().includes(value);
  });
}

/** Name in a line, name of the filter, and colour. */
export const levelLooks: Readonly<Record<LogLevel, readonly [string, string, string]>> = {
  error: ["error", "Errors", "bad"],
  warn: ["warning", "Warnings", "warn"],
  info: ["info", "Info", "ok"],
  debug: ["debug", "Debug", "off"],
};

const plain = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value);

const textOf = ({ text, fields }: LogLineView): string =>
  `${text} ${JSON.stringify(fields)}`.toLowerCase();

/** Adds a term to a filter, in place of an earlier one with the same key. */
export function withTerm(filter: string, key: string, value: string): string {
  const rest = filter.replaceAll(new RegExp(`(^|\\s)${key}:("[^"]*"|\\S+)`, "giu"), "$1").trim();
  const quoted = /\s/.test(value) ? `"${value}"` : value;
  return [rest, `${key}:${quoted}`].filter((part) => part !== "").join(" ");
}

/** Returns the source of a line: the plugin that wrote it. */
export function sourceOf({ fields }: LogLineView): string {
  const { plugin, name } = fields;
  return typeof plugin === "string" ? plugin : typeof name === "string" ? name : "doorward";
}

/** The levels that an address names, for example `error,warn`; undefined if it names none. */
export function parseLevels(text: string | null): readonly LogLevel[] | undefined {
  const named = (text ?? "").split(",");
  const found = logLevels.filter((level) => named.includes(level));
  return found.length > 0 ? found : undefined;
}

const reasonFields = ["reason", "problem", "why", "how", "code"] as const;

/** The reason that a line gives in its fields, unless its text contains it. */
export function reasonOf({ text, fields }: LogLineView): string | undefined {
  const { err } = fields;
  const message = typeof err === "object" && err !== null && "message" in err ? err.message : err;
  const found = [...reasonFields.map((name) => fields[name]), message].find(
    (value): value is string => typeof value === "string" && value !== "",
  );
  return found === undefined || text.includes(found) ? undefined : found;
}
