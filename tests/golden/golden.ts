// Compares what a test has recorded with its golden file, or rewrites the file.
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { expect } from "vitest";

const folder = new URL("files/", import.meta.url);

/**
 * Compares a text with `files/NAME`. With `UPDATE_GOLDEN=1`, it writes the file instead.
 */
export async function expectGolden(name: string, text: string): Promise<void> {
  const file = new URL(name, folder);
  if (process.env["UPDATE_GOLDEN"]) {
    await mkdir(folder, { recursive: true });
    return writeFile(file, text);
  }
  const golden = await readFile(file, "utf8").catch(() => "");
  expect(text, `${name} differs. See "Golden files" in CONTRIBUTING.md`).toBe(golden);
}

/** Replaces everything that differs between two runs or machines. Nothing else may be replaced. */
export class Normalizer {
  private readonly names = new Map<string, string>();
  private readonly fixed: [string, string][];

  /** @param fixed - Texts of this run, each with the name that the file shows. */
  constructor(fixed: Readonly<Record<string, string>>) {
    this.fixed = Object.entries(fixed);
  }

  rename(value: string, name: string): void {
    this.fixed.push([value, name]);
  }

  readonly normalize = (line: string): string => {
    let text = line;
    for (const [value, name] of this.fixed) text = text.replaceAll(value, name);
    for (const [pattern, name] of volatile) text = text.replace(pattern, name);
    return text
      .replace(/(.)\1{63,}/gs, (run, character: string) => `<${character} × ${run.length}>`)
      .replace(generated, (value) => this.nameOf(value))
      .replace(time, "<time>");
  };

  /** Names generated values in the order in which they appear: the bytes are not a promise, but
   *  their length and their places are. */
  private nameOf(value: string): string {
    const known = this.names.get(value);
    if (known !== undefined) return known;
    const name = `<${value.length}:${this.names.size + 1}>`;
    this.names.set(value, name);
    return name;
  }
}

/** Values of the machine, of the file system and of libraries. */
const volatile: readonly (readonly [RegExp, string])[] = [
  [/(?<=^\S*[<>] Date: ).*/i, "<now>"],
  [/(?<=^\S*< Sec-WebSocket-Key: )[\w+/]{22}==$/, "<random>"],
  [/(?<="changedAt":)\d+/g, "<time of the file>"],
  [/(?<="answerMs":)\d{4,}/g, "<time of the answer>"],
  [/(?<="state":"up".*"bytes":)\d+/, "<size>"],
  // Whole seconds are settings, others are random.
  [/(?<=; retry=)(?!\d+000$)\d+$/, "<random>"],
];

/** Times of the clock of the tests, in milliseconds, in seconds and as text. */
const time = /(?<!\d)17000\d{8}(?!\d)|(?<!\d)17000\d{5}(?!\d)|2023-11-14[T ]22:[\d:.]+Z?/g;

/** Hexadecimal numbers (epochs, conversations, messages, sign-ins), links and cookies. */
const generated = new RegExp(
  [
    /(?<![0-9a-z])(?:[0-9a-f]{8}){2,4}(?![0-9a-z])/,
    /(?<=doorward-)[0-9a-f]{20}(?=\.localhost)/,
    /(?<="id":"|sessions\/|id: )[0-9a-f]{8}(?=["-]|$)/,
    /ott_[\w-]{43}/,
    /(?<=_(?:session|setup)_\w+=)[\w.+/-]{60,}/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "g",
);
