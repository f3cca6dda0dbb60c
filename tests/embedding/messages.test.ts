import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKernel } from "../../kernel/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { rejection } from "../support/sample-plugins.ts";
import { root } from "../rules/source.ts";

/* Tests the compiler errors for common mistakes, against the shipped declarations. */

const head = `
import { createKernel, type Plugin } from "doorward";
import { application, channels, type Channels } from "doorward/plugins/channels";
import { http } from "doorward/plugins/http";
import { picoServer, type PicoServerEvents } from "doorward/plugins/pico-server";
import { memory, tokenStore } from "doorward/plugins/token-store";
import { echo } from "doorward/plugins/echo";
const all = [tokenStore(memory()), channels(), http(), picoServer()] as const;
const kernel = createKernel(all);
declare const sends: Channels;
declare const wrong: () => Plugin<{ offers: { tokens: number } }>;
createKernel(all, { config: { launcher: { port: 0 }, "channels.pico": { enabled: true } } });
createKernel(all, { config: {} as Record<string, unknown> });
createKernel([...all, ...(Math.random() > 0.5 ? [echo()] as const : [] as const)]);
createKernel([], { plugins: [echo()], config: { anything: { goes: 1 } } });
`.trim();

/** Mistake, its code, and words that the error must contain. */
const mistakes: readonly (readonly [what: string, code: string, words: RegExp])[] = [
  [
    "reports a missing plugin",
    "createKernel([channels(), http(), picoServer()]);",
    /no earlier plugin offers tokens/,
  ],
  [
    "reports a wrong order",
    "createKernel([picoServer(), tokenStore(memory()), channels(), http()]);",
    /no earlier plugin offers (?=.*channels)(?=.*http)(?=.*tokens)/,
  ],
  [
    "reports an event without an emitter",
    'declare const r: Plugin<{ listens: Pick<PicoServerEvents, "pico-server:refused"> }>; createKernel([r]);',
    /no plugin emits pico-server:refused/,
  ],
  ["a fact is misspelt", 'kernel.on("pico-server:conected", () => {});', /"pico-server:conected"/],
  [
    "reports a misspelt event field",
    'kernel.on("pico-server:connected", ({ sesion }) => sesion);',
    /'sesion' does not exist.*session: string/,
  ],
  ["a service is misspelt", "kernel.services.tokenz;", /Did you mean 'tokens'/],
  [
    "reports an address without session",
    'sends.send({ channel: "pico" }, { content: "" });',
    /'session' is missing/,
  ],
  [
    "reports a misspelt message kind",
    'application((m) => m.stream({ kind: "thougt" }).abort());',
    /Did you mean '"thought"'/,
  ],
  [
    "reports a non-text stream",
    'sends.stream({ channel: "a", session: "b" }).write(1);',
    /'string'/,
  ],
  ["an option is misspelt", "http({ prot: 80 });", /'prot' does not exist in type 'HttpOptions'/],
  [
    "reports an incomplete needs object",
    "const p: Plugin<{ needs: { channels: Channels; a: 1 } }> = " +
      '{ name: "a", api: 1, needs: { a: true }, start() {} }; void p;',
    /'channels' is missing/,
  ],
  [
    "reports a wrong service type",
    "createKernel([wrong(), channels(), http(), picoServer()]);",
    /tokens is needed with another type than is offered/,
  ],
  [
    "reports a wrong event payload",
    'declare const s: Plugin<{ listens: { "http:listening": { port: number } } }>; createKernel([http(), s]);',
    /http:listening has another payload where it is emitted/,
  ],
  [
    "reports two plugins with one service",
    "createKernel([tokenStore(memory()), wrong()]);",
    /two plugins offer tokens/,
  ],
  [
    "reports two applications",
    "createKernel([channels(), application(() => {}), echo()]);",
    /two plugins offer application/,
  ],
  [
    "reports a plain array",
    "const list = [channels(), http()]; createKernel(list);",
    /no fixed length: write it inside createKernel.*as const/,
  ],
  [
    "reports a plain array as a part of the list",
    "declare const some: Plugin[]; createKernel([...some, picoServer()]);",
    /no fixed length/,
  ],
  [
    "reports an event with a foreign prefix",
    'const t: Plugin<{ emits: { "other:done": { n: 1 } } }> = { name: "own", api: 1, start() {} }; void t;',
    /'"own"' is not assignable to type '"other"'/,
  ],
  [
    "reports a misspelt section",
    'createKernel(all, { config: { "channels.pco": {} } });',
    /'"channels.pco"' does not exist.*|Did you mean/,
  ],
  [
    "reports a misspelt setting",
    "createKernel(all, { config: { launcher: { prot: 80 } } });",
    /'prot' does not exist/,
  ],
  [
    "reports a wrong setting type",
    'createKernel(all, { config: { launcher: { port: "80" } } });',
    /'string' is not assignable to type 'number/,
  ],
  [
    "reports a missing service in the result of start",
    'const q: Plugin<{ offers: { clock: Date } }> = { name: "a", api: 1, start: () => ({}) }; void q;',
    /offers.*clock|clock: Date/,
  ],
];
const at = head.split("\n").length;
let project: string;
let output: string;

beforeAll(async () => {
  // A folder inside the package, so that "doorward" resolves to this package.
  project = await mkdtemp(join(root, "dist", "messages-"));
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    lib: ["es2023", "esnext.disposable"],
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
  };
  await writeFile(
    join(project, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["host.ts"] }),
  );
  await writeFile(
    join(project, "host.ts"),
    [head, ...mistakes.map(([, code]) => code), ""].join("\n"),
  );
  const tsc = join(
    dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
    "bin",
    "tsc",
  );
  const compiling = promisify(execFile)(
    process.execPath,
    [tsc, "-p", project, "--pretty", "false"],
    { cwd: project },
  );
  output = await compiling.then(
    ({ stdout }) => stdout,
    ({ stdout }: { stdout: string }) => stdout,
  );
});
afterAll(() => rm(project, { recursive: true, force: true }));

/** @returns The error about a line, with its indented continuation. */
function about(line: number): string {
  const messages = output.split(/^(?=\S)/m);
  return messages.filter((message) => message.startsWith(`host.ts(${line},`)).join("");
}

describe("compiler", () => {
  test.each(mistakes.map(([what, , words], index) => [what, words, index] as const))(
    "%s",
    (_, words, index) => {
      expect(about(at + 1 + index).replaceAll("\n", " ")).toMatch(words);
    },
  );

  test("reports nothing for a correct list", () => {
    const lines = [...output.matchAll(/^(\S+)\((\d+),/gm)].map(
      ([, file, line]) => [file, Number(line)] as const,
    );
    expect(lines.filter(([file, line]) => file !== "host.ts" || line <= at)).toEqual([]);
  });
});

test("rejects plugins known only at run time with the same words", async () => {
  const { message } = await rejection(createKernel([], { plugins: [picoServer()] }).start());
  expect(message).toMatch(/needs the service "tokens", which no earlier plugin offers/);
});
