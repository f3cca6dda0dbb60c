// Installs the clients of other people, and runs each against a service: npm run clients.
//
//   node tests/clients/run.mjs [--write] [NAME...]
//
// Each file in cases/ is one client. Its first line is a comment with JSON: `client`, `protocol`,
// `packages` with versions, and optionally `version` to show and `shows`, a note for the table.
// `--write` puts the clients that did not fail into the table of docs/doors.md, and leaves the rows
// of others. The exit code is 1 if a client fails.
import { spawn } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startService } from "./service.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const page = fileURLToPath(new URL("../../docs/doors.md", import.meta.url));
const installMs = 420_000;
const runMs = 60_000;
const maxOutput = 20_000;

/** Runs a command, and kills it with its children after a while. */
function run(command, args, { cwd, env = {}, ms }) {
  return new Promise((resolve) => {
    const options = { cwd, env: { ...process.env, ...env }, detached: true };
    const child = spawn(command, args, options);
    let output = "";
    let stdout = "";
    const add = (part) => void (output = (output + part).slice(-maxOutput));
    child.stdout.on("data", (part) => add(part) ?? (stdout = (stdout + part).slice(-maxOutput)));
    child.stderr.on("data", add);
    const timer = setTimeout(() => {
      add(`\nlonger than ${ms / 1_000} s`);
      process.kill(-child.pid, "SIGKILL");
    }, ms);
    const end = (code) => {
      clearTimeout(timer);
      resolve({ code, output, stdout });
    };
    child.on("error", (error) => end(add(error.message) ?? 127));
    child.on("close", end);
  });
}

/** Extension -> commands that install the packages, and the one that runs the case. */
const kinds = {
  ".mjs": {
    helpers: ["check.mjs", "use-chat.mjs"],
    install: ({ packages }) => [
      ["npm", ["init", "-y"]],
      ["npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...packages]],
    ],
    command: (file) => [process.execPath, [file]],
    env: { COPILOTKIT_TELEMETRY_DISABLED: "true" },
  },
  ".py": {
    helpers: ["check.py"],
    install: ({ packages }) => [
      ["python3", ["-m", "venv", ".venv"]],
      [join(".venv", "bin", "pip"), ["install", "-q", "--no-input", ...packages]],
    ],
    command: (file) => [join(".venv", "bin", "python"), [file]],
    env: { PYTHONUTF8: "1" },
  },
  ".go": {
    helpers: [],
    install: ({ packages }) => [
      ["go", ["mod", "init", "case"]],
      ["go", ["get", ...packages]],
      ["go", ["build", "-o", "case"]],
    ],
    command: () => ["./case", []],
  },
  ".rs": {
    helpers: [],
    // The program is case.rs, which cargo finds by the name of the package.
    install: ({ packages }) => [
      ["cargo", ["init", "--name", "case"]],
      ["cargo", ["add", ...packages]],
      ["cargo", ["build", "-q"]],
    ],
    command: () => ["cargo", ["run", "-q"]],
  },
};

async function readCase(file) {
  const text = await readFile(join(here, "cases", file), "utf8");
  const header = /^(?:\/\/|#) (\{.*\})$/m.exec(text.split("\n", 1)[0]);
  if (!header) throw new Error(`${file} must begin with a comment with JSON`);
  return { file, name: basename(file, extname(file)), ...JSON.parse(header[1]) };
}

const lastLine = (text) => text.trim().split("\n").at(-1) ?? "";

/** @returns The outcome: `works`, `fails` or `missing`, with a text. */
async function check(one, service, folder) {
  const kind = kinds[extname(one.file)];
  const cwd = join(folder, one.name);
  await mkdir(cwd);
  // Not its own name: a Python module of that name would hide the package.
  const file = `case${extname(one.file)}`;
  await copyFile(join(here, "cases", one.file), join(cwd, file));
  for (const helper of kind.helpers) await copyFile(join(here, helper), join(cwd, helper));
  for (const [command, args] of kind.install(one)) {
    const { code, output } = await run(command, args, { cwd, env: kind.env, ms: installMs });
    if (code !== 0) return { outcome: "missing", text: lastLine(output), output };
  }
  const env = { ...kind.env, ...service.environmentOf(one.protocol) };
  const [command, args] = kind.command(file);
  const { code, output, stdout } = await run(command, args, { cwd, env, ms: runMs });
  await rm(cwd, { recursive: true, force: true });
  const found = code === 0 ? /^\{"works":.*\}$/m.exec(stdout) : undefined;
  if (!found) return { outcome: "fails", text: lastLine(output), output };
  return { outcome: "works", text: JSON.parse(found[0]).works.join(", ") };
}

const titles = { openai: "OpenAI", ai_sdk: "AI SDK", ag_ui: "AG-UI" };
const versionOf = ({ packages, version }) =>
  version ?? packages[0].replace(/^.*?(?:@|==|@v)([\d.]+.*)$/, "$1");

function toRow({ one, outcome, text }) {
  const works = outcome === "works" ? text : `not tested: ${text}`;
  const cells = [one.client, versionOf(one), titles[one.protocol]];
  return `| ${[...cells, one.shows ? `${works}; ${one.shows}` : works].join(" | ")} |`;
}

/** Replaces the rows of the clients that ran. The other rows stay. */
async function writeTable(results, cases) {
  const text = await readFile(page, "utf8");
  const [begin, end] = ["<!-- clients -->", "<!-- end of clients -->"];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from === -1 || to === -1) throw new Error(`docs/doors.md must contain ${begin} and ${end}`);
  const rows = new Map(
    text
      .slice(from, to)
      .split("\n")
      .filter((line) => line.startsWith("| "))
      .map((line) => [line.split("|")[1].trim(), line]),
  );
  for (const result of results)
    if (result.outcome !== "fails") rows.set(result.one.client, toRow(result));
  const known = cases.flatMap(({ client }) => rows.get(client) ?? []);
  const table = [
    "| client | version | protocol | works |",
    "| --- | --- | --- | --- |",
    ...known.toSorted((a, b) => a.localeCompare(b, "en")),
  ].join("\n");
  await writeFile(page, `${text.slice(0, from)}${begin}\n\n${table}\n\n${text.slice(to)}`);
}

const { values, positionals } = parseArgs({
  options: { write: { type: "boolean", default: false } },
  allowPositionals: true,
});
const files = (await readdir(join(here, "cases"))).filter((file) => extname(file) in kinds);
const cases = await Promise.all(files.toSorted().map(readCase));
const wanted = cases.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const folder = await mkdtemp(join(tmpdir(), "doorward-clients-"));
/** Program -> its service. Without a program, the service has replies of its own. */
const services = new Map();
const results = [];
try {
  for (const one of wanted) {
    const { application } = one;
    if (!services.has(application)) services.set(application, await startService(application));
    const result = { one, ...(await check(one, services.get(application), folder)) };
    results.push(result);
    console.log(`${result.outcome.padEnd(8)} ${one.name.padEnd(24)} ${result.text}`);
    if (result.outcome === "fails") console.log(result.output.replace(/^/gm, "    "));
  }
} finally {
  for (const service of services.values()) await service.stop();
  await rm(folder, { recursive: true, force: true });
}
const failed = results.filter(({ outcome }) => outcome === "fails");
if (values.write) await writeTable(results, cases);
console.log(`${results.length - failed.length} of ${results.length} clients without a failure`);
process.exitCode = failed.length > 0 ? 1 : 0;
