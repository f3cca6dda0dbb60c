import { describe, expect, test } from "vitest";
import { linesThat, sources } from "./source.ts";

/* Time, randomness, the environment and the end of the process are injected, so that a host and a
 * test can replace them. */

/** Agents are processes of their own. */
const agents = "lib/agent/(index|serve)";
const commandLine = new RegExp(`^(bin/|${agents}\\.ts$)`);
/** Pages use the timers of the browser. The texts in `shared/` are used by the server, too. */
const inBrowser = /^plugins\/dashboard\/pages\//;
const program = sources().filter(({ path }) => !inBrowser.test(path));
const uses = (pattern: RegExp, allowed: RegExp): string[] =>
  program
    .filter(({ path }) => !allowed.test(path))
    .flatMap(({ path, code }) => linesThat((line) => pattern.test(line), path, code));

/**
 * Files that may use real time:
 * - the default clocks of the kernel and of the client library;
 * - code paced by another process or by a socket of the operating system, which an injected clock
 *   cannot speed up: file locks, edits and ages of files, sockets that linger after a rejection or a close,
 *   draining clients, keep-alive connections, the search for the owner of a port, the next turn of
 *   the event loop, a foreign module, proxies that are checked;
 * - the test kit, whose timeouts and network are real.
 */
const own =
  "kernel/(defaults|kernel)|lib/(observed-promise|files/(lock|stamp|watch|write))|" +
  "config/(plugins/(limited|foreign)|doctor/public/\\w+)";
const kit =
  "testkit/(fault-line|fault-proxy|queue|client|rules/\\w+|conformance|open-resources|wire)";
const http = "plugins/http/(connection-limits|responses|listeners|server)";
const plugins =
  "(plugins/(channels/(answer-stop|handed-calls|inbound|questions)|" +
  "conversations/sqlite/(steps|store|writer)|redis/(call-queue|inspect)|protocols/files|" +
  "pico-server/(drain|shutdown|connection/(frame-turns|web-socket)))|" +
  "lib/(pico-link/connect|child-process/process|running-time))";
const realTime = new RegExp(`^(${agents}|${own}|${kit}|${http}|${plugins}|bin/[\\w/-]+)\\.ts$`);

describe("sources", () => {
  test("read process.env in the command line and agents only", () => {
    expect(uses(/\bprocess\.env\b/, commandLine)).toEqual([]);
  });

  test("use exit, arguments and signals in processes of their own only", () => {
    const pattern = /\bprocess\.(exit|exitCode|abort|kill|argv|on|once)\b/;
    // Signals to a child process do not end this process. The test kit gives the listeners of a
    // test runner back.
    const allowed = "lib/files/lock|lib/child-process/process|testkit/rejected-deliveries";
    expect(uses(pattern, new RegExp(`^(bin/|(${agents}|${allowed})\\.ts$)`))).toEqual([]);
  });

  test("inject clocks and timers", () => {
    const clocks = /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b/;
    const timers = /(?<![.\w])set(Timeout|Interval|Immediate)\((?!run: )|\bAbortSignal\.timeout\b/;
    expect([...uses(clocks, realTime), ...uses(timers, realTime)]).toEqual([]);
  });

  test("take random bytes from the scope and never use Math.random", () => {
    expect(uses(/\bMath\.random\b/, /^lib\/files\/lock\.ts$/)).toEqual([]);
    const pattern = /\brandom(Bytes|UUID|Fill|FillSync|Int)\b|\bgetRandomValues\b/;
    const outside =
      /^(kernel\/(defaults|kernel)|lib\/(agent\/serve|pico-link\/connect|files\/[\w-]+)|bin\/[\w/-]+)\.ts$/;
    expect(uses(pattern, outside)).toEqual([]);
  });

  test("use console in the default log of the kernel only", () => {
    expect(uses(/(?<![.\w])console\.\w+\(/, /^kernel\/(defaults|kernel)\.ts$/)).toEqual([]);
  });

  test("use standard streams in the command line and agents only", () => {
    expect(uses(/\bprocess\.(stdout|stderr|stdin)\b/, commandLine)).toEqual([]);
  });
});
