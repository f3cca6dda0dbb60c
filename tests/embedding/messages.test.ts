import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createKernel } from "../../kernel/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { refusal } from "../support/sample-plugins.ts";
import { root } from "../rules/source.ts";

/* What a host reads when it has made a mistake: the compiler's own words, from the declarations that are shipped. */

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

/** Mistake -> words of the message. */
const mistakes: readonly (readonly [what: string, code: string, words: RegExp])[] = [
  [
    "a plugin is missing",
    "createKernel([channels(), http(), picoServer()]);",
    /no earlier plugin offers tokens/,
  ],
  [
    "the order is wrong",
    "createKernel([picoServer(), tokenStore(memory()), channels(), http()]);",
    /no earlier plugin offers (?=.*channels)(?=.*http)(?=.*tokens)/,
  ],
  [
    "nobody announces what a plugin hears",
    'declare const r: Plugin<{ listens: Pick<PicoServerEvents, "pico-server:refused"> }>; createKernel([r]);',
    /no plugin emits pico-server:refused/,
  ],
  ["a fact is misspelt", 'kernel.on("pico-server:conected", () => {});', /"pico-server:conected"/],
  [
    "a field of a fact is misspelt",
    'kernel.on("pico-server:connected", ({ sesion }) => sesion);',
    /'sesion' does not exist.*session: string/,
  ],
  ["a service is misspelt", "kernel.services.tokenz;", /Did you mean 'tokens'/],
  [
    "an address lacks its session",
    'sends.send({ channel: "pico" }, { content: "" });',
    /'session' is missing/,
  ],
  [
    "a kind of message is misspelt",
    'application((m) => m.stream({ kind: "thougt" }).abort());',
    /Did you mean '"thought"'/,
  ],
  [
    "a stream gets something else than text",
    'sends.stream({ channel: "a", session: "b" }).write(1);',
    /'string'/,
  ],
  ["an option is misspelt", "http({ prot: 80 });", /'prot' does not exist in type 'HttpOptions'/],
  [
    "a need is half named",
    'const p: Plugin<{ needs: { channels: Channels; a: 1 } }> = { name: "a", api: 1, needs: { a: true }, start() {} }; void p;',
    /'channels' is missing/,
  ],
  [
    "a service has another type",
    "createKernel([wrong(), channels(), http(), picoServer()]);",
    /tokens is needed with another type than is offered/,
  ],
  [
    "an event has another payload",
    'declare const s: Plugin<{ listens: { "http:listening": { port: number } } }>; createKernel([http(), s]);',
    /http:listening has another payload where it is emitted/,
  ],
  [
    "two plugins offer one service",
    "createKernel([tokenStore(memory()), wrong()]);",
    /two plugins offer tokens/,
  ],
  [
    "two applications are listed",
    "createKernel([channels(), application(() => {}), echo()]);",
    /two plugins offer application/,
  ],
  [
    "the list is a plain array",
    "const list = [channels(), http()]; createKernel(list);",
    /no fixed length: write it inside createKernel.*as const/,
  ],
  [
    "a part of the list is a plain array",
    "declare const some: Plugin[]; createKernel([...some, picoServer()]);",
    /no fixed length/,
  ],
  [
    "an event has the prefix of another plugin",
    'const t: Plugin<{ emits: { "other:done": { n: 1 } } }> = { name: "own", api: 1, start() {} }; void t;',
    /'"own"' is not assignable to type '"other"'/,
  ],
  [
    "a section is misspelt",
    'createKernel(all, { config: { "channels.pco": {} } });',
    /'"channels.pco"' does not exist.*|Did you mean/,
  ],
  [
    "a setting is misspelt",
    "createKernel(all, { config: { launcher: { prot: 80 } } });",
    /'prot' does not exist/,
  ],
  [
    "a setting has another type",
    'createKernel(all, { config: { launcher: { port: "80" } } });',
    /'string' is not assignable to type 'number/,
  ],
  [
    "a promised service is not given",
    'const q: Plugin<{ offers: { clock: Date } }> = { name: "a", api: 1, start: () => ({}) }; void q;',
    /offers.*clock|clock: Date/,
  ],
];
const at = head.split("\n").length;
let project: string;
let output: string;

beforeAll(async () => {
  project = await mkdtemp(join(root, "dist", "messages-")); // inside the package, so that "doorward" is this package
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

/** The message about a line, with what is indented below it. */
function about(line: number): string {
  const messages = output.split(/^(?=\S)/m);
  return messages.filter((message) => message.startsWith(`host.ts(${line},`)).join("");
}

describe("the compiler tells", () => {
  test.each(mistakes.map(([what, , words], index) => [what, words, index] as const))(
    "%s",
    (_, words, index) => {
      expect(about(at + 1 + index).replaceAll("\n", " ")).toMatch(words);
    },
  );

  test("nothing about a list that is right", () => {
    const lines = [...output.matchAll(/^(\S+)\((\d+),/gm)].map(
      ([, file, line]) => [file, Number(line)] as const,
    );
    expect(lines.filter(([file, line]) => file !== "host.ts" || line <= at)).toEqual([]);
  });
});

test("plugins that are known only at run time are refused in the same words", async () => {
  const { message } = await refusal(createKernel([], { plugins: [picoServer()] }).start());
  expect(message).toMatch(/needs the service "tokens", which no earlier plugin offers/);
});
