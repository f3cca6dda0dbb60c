// A disk whose power fails: the traced writes and syncs of a process, replayed up to any moment.
import { readFileSync } from "node:fs";

type Change =
  | { readonly kind: "write"; readonly at: number; readonly data: Buffer }
  | { readonly kind: "truncate"; readonly size: number };

type FileStep =
  | { readonly file: string; readonly change: Change }
  | { readonly file: string; readonly thread: string; readonly sync: "begins" | "ended" };

/** A step of the process, in the order in which the system saw them. */
export type Step = FileStep | { readonly told: string };

const sectorBytes = 512;
const callForm = /^(\d+) +(\w+)\((\d+)<([^>]*)>(.*)$/;
const resumedForm = /^(\d+) +<\.\.\. (\w+) resumed>(.*)$/;

const fromHex = (text: string): Buffer => Buffer.from(text.replaceAll("\\x", ""), "hex");
/** Paths are printed in hexadecimal digits, too. */
const toPath = (text: string): string => (text.startsWith("\\x") ? fromHex(text).toString() : text);

interface Call {
  readonly thread: string;
  readonly name: string;
  readonly fd: string;
  readonly file: string;
  readonly rest: string;
}

function toStep({ name, fd, file, thread, rest }: Call): Step | undefined {
  if (name === "fdatasync" || name === "fsync") return { file, thread, sync: "ended" };
  if (name === "ftruncate")
    return { file, change: { kind: "truncate", size: Number(/^, (\d+)/.exec(rest)![1]) } };
  if (name === "pwrite64") {
    const [, data = "", , at] = /^, "([^"]*)", (\d+), (\d+)/.exec(rest)!;
    return { file, change: { kind: "write", at: Number(at), data: fromHex(data) } };
  }
  if (fd !== "1") return undefined;
  return { told: fromHex(/"([^"]*)"/.exec(rest)?.[1] ?? "").toString() };
}

/**
 * Reads the output of `strace -f -y -xx -s 200000 -e trace=${tracedCalls}`.
 *
 * @param path - The file that strace wrote.
 */
export function readTrace(path: string): readonly Step[] {
  const steps: Step[] = [];
  /** By thread: calls that have begun. */
  const begun = new Map<string, Call>();
  // The kill ends strace, too, in the middle of a line.
  for (const line of readFileSync(path, "latin1").split("\n").slice(0, -1)) {
    const found = callForm.exec(line);
    const again = resumedForm.exec(line);
    let call: Call;
    if (found) {
      const [, thread = "", name = "", fd = "", file = "", rest = ""] = found;
      call = { thread, name, fd, file: toPath(file), rest };
      if (name.endsWith("sync")) steps.push({ file: call.file, thread, sync: "begins" });
      if (rest.includes("<unfinished")) {
        begun.set(thread, call);
        continue;
      }
    } else if (again) {
      const [, thread = "", , rest = ""] = again;
      const first = begun.get(thread);
      if (!first || !begun.delete(thread)) continue;
      call = { ...first, rest: first.rest + rest };
    } else continue;
    // A call that failed, or that the end of the process has cut, changed nothing for certain.
    const step = / = -1|\?$/.test(call.rest) ? undefined : toStep(call);
    if (step) steps.push(step);
  }
  return steps;
}

/** The system calls that change the files of SQLite, and those that print. */
export const tracedCalls = "pwrite64,write,writev,ftruncate,fdatasync,fsync";

/** A growing file. */
class Image {
  private bytes: Buffer;
  private size = 0;

  /** @param capacity - Its largest size. */
  constructor(capacity: number) {
    this.bytes = Buffer.alloc(capacity);
  }

  apply(change: Change): void {
    if (change.kind === "write") {
      change.data.copy(this.bytes, change.at);
      this.size = Math.max(this.size, endOf(change));
    } else {
      this.bytes.fill(0, change.size);
      this.size = change.size;
    }
  }

  content(): Buffer {
    return this.bytes.subarray(0, this.size);
  }
}

const endOf = (change: Change): number =>
  change.kind === "truncate" ? change.size : change.at + change.data.length;

/**
 * The content of a file after the power failed: all that a complete sync covers, and of the rest
 * any part, sector by sector.
 *
 * @param steps - Until the moment of the failure.
 * @param random - A number from 0 to 1.
 */
export function contentAfterCut(
  steps: readonly Step[],
  file: string,
  random: () => number,
): Buffer {
  const own = steps.filter((step): step is FileStep => "file" in step && step.file === file);
  const ends = own.map((step) => ("change" in step ? endOf(step.change) : 0));
  const image = new Image(ends.reduce((most, end) => Math.max(most, end), 0));
  let pending: Change[] = [];
  /** By thread: how many of the pending changes a running sync covers. */
  const covered = new Map<string, number>();
  for (const step of own) {
    if ("change" in step) pending.push(step.change);
    else if (step.sync === "begins") covered.set(step.thread, pending.length);
    else {
      const count = covered.get(step.thread) ?? 0;
      for (const change of pending.slice(0, count)) image.apply(change);
      pending = pending.slice(count);
      for (const [thread, length] of covered) covered.set(thread, Math.max(0, length - count));
    }
  }
  const share = [0, 0.2, 0.5, 0.9, 1][Math.floor(random() * 5)]!;
  for (const change of pending) {
    if (change.kind === "truncate") {
      if (random() < 0.5) image.apply(change);
      continue;
    }
    for (let from = 0; from < change.data.length; from += sectorBytes) {
      const data = change.data.subarray(from, from + sectorBytes);
      if (random() < share) image.apply({ kind: "write", at: change.at + from, data });
    }
  }
  return image.content();
}
