import { describe, expect, test } from "vitest";
import { linesThat, sources } from "./source.ts";

/* Time, randomness, the environment and the end of the process come from outside: a host and a test give their own. */

const program = sources().filter(({ path }) => !path.startsWith("plugins/dashboard/browser/"));
const uses = (pattern: RegExp, allowed: RegExp): string[] =>
  program
    .filter(({ path }) => !allowed.test(path))
    .flatMap(({ path, code }) => linesThat((line) => pattern.test(line), path, code));

/** The default clocks of the kernel and of the library for pages; and what waits for another process or for a socket
 *  of the operating system, which no stopped clock can speed up: file locks, edits and ages of files, a socket that
 *  lingers after a refusal, clients that are sent away, kept-alive connections, the question who holds a port, the end
 *  of a turn of the event loop, a module of another author; and the test kit, whose patience and network are real. */
const own =
  "kernel/(defaults|kernel)|lib/files/(atomic(-write)?|lock|stamp|watch)|config/plugins/(limited|foreign)";
const kit = "testkit/(fault-line|fault-proxy|queue|client|rules|conformance)";
const http = "plugins/http/(pipeline|responses|listeners|server)";
const plugins =
  "(plugins/(program/process|pico-server/(drain|shutdown|(connection/)?sink))|lib/pico-link/connect)";
const realTime = new RegExp(`^(${own}|${kit}|${http}|${plugins}|bin/[\\w/-]+)\\.ts$`);

describe("globals", () => {
  test("only the command line reads the environment", () => {
    expect(uses(/\bprocess\.env\b/, /^bin\//)).toEqual([]);
  });

  test("only the command line ends the process, reads its arguments or hears its signals", () => {
    const pattern = /\bprocess\.(exit|exitCode|abort|kill|argv|on|once)\b/;
    // Signals to a program that was started here are no end of this process.
    expect(
      uses(pattern, /^(bin\/|(lib\/files\/process|plugins\/program\/(group|process))\.ts$)/),
    ).toEqual([]);
  });

  test("clocks and timers are injected", () => {
    const clocks = /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/;
    const timers = /(?<![.\w])set(Timeout|Interval|Immediate)\((?!run: )|\bAbortSignal\.timeout\b/;
    expect([...uses(clocks, realTime), ...uses(timers, realTime)]).toEqual([]);
  });

  test("nothing random comes from Math, and bytes are asked of the scope", () => {
    expect(uses(/\bMath\.random\b/, /^lib\/files\/lock\.ts$/)).toEqual([]);
    const pattern = /\brandom(Bytes|UUID|Fill|FillSync|Int)\b|\bgetRandomValues\b/;
    const outside =
      /^(kernel\/(defaults|kernel)|lib\/pico-link\/connect|lib\/files\/[\w-]+|bin\/[\w/-]+)\.ts$/;
    expect(uses(pattern, outside)).toEqual([]);
  });

  test("nothing is written to the console but by the kernel's default log", () => {
    expect(uses(/(?<![.\w])console\.\w+\(/, /^kernel\/(defaults|kernel)\.ts$/)).toEqual([]);
  });

  test("standard streams belong to the command line", () => {
    expect(uses(/\bprocess\.(stdout|stderr|stdin)\b/, /^bin\//)).toEqual([]);
  });
});
