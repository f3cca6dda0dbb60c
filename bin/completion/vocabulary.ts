// Derives the words of the command line from the help texts, for completion scripts.
import type { Command } from "../commands/command.ts";

export interface OptionWord {
  /** With one dash: `-token-file`. */
  readonly name: string;
  readonly does: string;
  /** Placeholder of the value: `FILE` for a path. Undefined for a switch. */
  readonly value?: string;
}
export interface CommandWord {
  readonly name: string;
  readonly does: string;
  /** Second words: `show` of `token show`. */
  readonly words: readonly { readonly name: string; readonly does: string }[];
  readonly options: readonly OptionWord[];
}
export interface Vocabulary {
  readonly commands: readonly CommandWord[];
  /** Options of the launcher. */
  readonly options: readonly OptionWord[];
}

type Rows = Command["usage"];

/** `-no-tray` is mentioned in the text of `-tray`. */
const optionsOf = (rows: Rows): OptionWord[] =>
  rows.flatMap(([words, does]) => {
    const [, name, value] = /^ *(-[a-z-]+)(?: ([A-Z]+))?$/.exec(words) ?? [];
    if (name === undefined) return [];
    const opposites = [...does.matchAll(/-no-[a-z]+/g)].map(([no]) => ({ name: no, does }));
    return [{ name, does, ...(value !== undefined && { value }) }, ...opposites];
  });

/**
 * @param commands - The table of commands.
 * @param launcher - Help rows of the launcher options.
 * @param common - Help rows of the options that every command accepts.
 */
export function vocabulary(
  commands: Readonly<Record<string, Command>>,
  launcher: Rows,
  common: Rows,
): Vocabulary {
  const known = new Map(
    Object.values(commands)
      .flatMap(({ usage }) => optionsOf(usage))
      .map((option) => [option.name, option]),
  );
  const toCommand = ([name, { usage, options = {} }]: [string, Command]): CommandWord => {
    const named = Object.keys(options).flatMap((option) => known.get(`-${option}`) ?? []);
    const all = [...optionsOf(usage), ...named, ...optionsOf(common)];
    const rows = usage.filter(([words]) => !words.startsWith(" "));
    const words = rows.flatMap(([text, does]) => {
      const [, second = ""] = text.split(" ");
      const choices = /^[a-z|]+$/.test(second) ? second.split("|") : [];
      return choices.map((choice) => ({ name: choice, does }));
    });
    return {
      name,
      does: words.length > 1 ? words.map((word) => word.name).join(", ") : (rows[0]?.[1] ?? ""),
      words,
      options: all.filter(({ name }, at) => all.findIndex((same) => same.name === name) === at),
    };
  };
  return { commands: Object.entries(commands).map(toCommand), options: optionsOf(launcher) };
}
