// `doorward service`: runs the launcher as a service of the user.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import {
  findingsFile,
  noteFindings,
  readFindings,
  serviceProgram,
  type ServiceFindings,
} from "../../config/service/findings.ts";
import {
  describeErrno,
  readJson,
  readRegularFile,
  writeFileAtomic,
} from "../../lib/files/index.ts";
import { isRunning } from "../banner.ts";
import { sanitizeLine } from "../client/text.ts";
import type { ServiceManager, ServiceTarget, Step, StepResult } from "../service/description.ts";
import { isInNpxCache, serviceManager, serviceTarget } from "../service/manager.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";

const actions = { install, uninstall, status } as const;
const usage = "Name one action: doorward service install, uninstall or status";

/** @param platform - For tests: another operating system. */
export async function service(
  context: CommandContext,
  platform: NodeJS.Platform = process.platform,
): Promise<number> {
  const [action = "", ...others] = context.words;
  if (others.length > 0 || !Object.hasOwn(actions, action)) throw new UsageError(usage);
  const { home, env } = context;
  const script = ownScript();
  // Another terminal has another PATH: only an installation changes that of the service.
  const { variables } = (action === "install" ? undefined : await readFindings(home)) ?? {};
  const target = serviceTarget({ home, env, node: process.execPath, script, variables });
  const manager = serviceManager(platform, target);
  if (!manager) {
    throw new Error(
      `Doorward knows no service manager of ${platform}. Start it with the supervisor of the ` +
        `machine: "${target.node}" "${script}" -no-browser`,
    );
  }
  return actions[action as keyof typeof actions](context, manager, target);
}

/** `doorward.js` of this installation. */
const ownScript = (): string =>
  join(
    dirname(createRequire(import.meta.url).resolve("doorward/package.json")),
    "dist",
    "bin",
    "doorward.js",
  );

async function install(
  context: CommandContext,
  manager: ServiceManager,
  target: ServiceTarget,
): Promise<number> {
  const { env, home } = context;
  const { script } = target;
  if (isInNpxCache(script)) {
    throw new Error(
      "This doorward is in the cache of npx, which npm may clear. Install it first: " +
        "npm install --global doorward",
    );
  }
  const bytes = bytesOf(manager);
  const isChanged = !(await readInstalled(manager))?.equals(bytes);
  const steps = manager.install(isChanged);
  if (context.values["print"] === true) return print(context, manager, steps, manager.content);
  requireReachable(manager, context);
  if (!isActive(stateOf(manager, context)) && (await isRunning(home, env))) {
    throw new Error(
      `A launcher of ${home} is already running without the service. Stop it, then run again: ` +
        "doorward service install",
    );
  }
  warn(context, manager);
  if (isChanged) {
    await mkdir(dirname(manager.file), { recursive: true });
    await writeFileAtomic(manager.file, bytes, { mode: 0o600 });
  }
  const findings = await findingsOf(context, manager, target);
  await noteFindings(home, findings);
  perform(steps, context);
  return report(context, manager, isChanged ? "installed" : "already installed", [
    ...describeFindings(findings),
    ...(manager.hint === undefined ? [] : [manager.hint]),
    "To see the state: doorward service status. To sign in: doorward open",
  ]);
}

async function uninstall(context: CommandContext, manager: ServiceManager): Promise<number> {
  const { uninstall: before, removed: after = [] } = manager;
  if (context.values["print"] === true) return print(context, manager, [...before, ...after]);
  if (!existsSync(manager.file)) return report(context, manager, "not installed");
  requireReachable(manager, context);
  perform(before, context);
  await rm(manager.file, { force: true });
  await rm(join(context.home, findingsFile), { force: true });
  perform(after, context);
  return report(context, manager, "removed", [`The files in ${context.home} are unchanged.`]);
}

async function status(
  context: CommandContext,
  manager: ServiceManager,
  { script, variables }: ServiceTarget,
): Promise<number> {
  if (context.values["print"] === true)
    throw new UsageError('"-print" belongs to install and uninstall');
  const installed = await readInstalled(manager);
  const isCurrent = installed?.equals(bytesOf(manager)) === true;
  const result = installed && run(manager.query, context);
  const state = result && (manager.state(result) ?? "unknown to the service manager");
  const history = (result && manager.history?.(result)) ?? [];
  const lines = installed ? await lastLines(context, manager) : [];
  const isReachable = await isRunning(context.home, context.env);
  if (context.json) {
    printJson(context, {
      service: manager.title,
      file: manager.file,
      installed: installed !== undefined,
      ...(installed && { current: isCurrent, state, path: variables["PATH"], lines }),
      ...Object.fromEntries(history.map(([name, text]) => [name.toLowerCase(), text])),
      running: isReachable,
    });
  } else {
    const row = (name: string, text: string): void =>
      context.out(`${name.padEnd(10)} ${sanitizeLine(text)}\n`);
    row("Service", installed ? `${manager.title}: ${manager.file}` : "not installed");
    if (state !== undefined) row("State", state);
    for (const [name, text] of history) row(name, text);
    row("Launcher", isReachable ? "running" : "not running");
    if (installed && !isCurrent) {
      row(
        "File",
        `differs from what this doorward (${script}) writes; to renew: doorward service install`,
      );
    }
    if (lines.length > 0) context.out("Last lines\n");
    for (const line of lines) context.out(`  ${line}\n`);
  }
  return installed && isReachable ? exitCodes.done : exitCodes.unreachable;
}

/** Looks for the program as the service does: with its variables. */
async function findingsOf(
  { home, say }: CommandContext,
  { file, user, lingers }: ServiceManager,
  { node, script, variables }: ServiceTarget,
): Promise<ServiceFindings> {
  const config = join(home, "config.json");
  const { handler } = (await readJson(config).catch(() => undefined))?.value ?? {};
  const options = { home, variables, handler, file: config };
  const program = await serviceProgram(options).catch((error: Error) => {
    say(`note: the service cannot start the program: ${sanitizeLine(error.message)}\n`);
    return undefined;
  });
  return {
    ...{ file, node, script, variables, user },
    ...(program !== undefined && { program }),
    ...(lingers !== undefined && { lingers }),
  };
}

const describeFindings = ({ node, program, user, variables, lingers }: ServiceFindings) => [
  `It starts ${node} as ${user}.`,
  program === undefined
    ? "It starts no program of yours."
    : `It starts the program ${sanitizeLine(program)}.`,
  ...Object.entries(variables).map(([name, value]) => sanitizeLine(`${name}: ${value}`)),
  ...(lingers === true ? ["It runs from boot on, also when you are not signed in."] : []),
];

/** The lines of a first start have tokens and links, and users copy the status into reports. */
const hideSecrets = (line: string): string => line.replace(/[\w-]{32,}/g, "…");
const maxLines = 10;
const maxLogBytes = 64 * 1024 * 1024;

/** The last lines that the service manager has, else those of the log of the home. */
async function lastLines(context: CommandContext, { log }: ServiceManager): Promise<string[]> {
  const result = log && run(log, context);
  const text =
    result?.code === 0 && !/^-- No entries --/m.test(result.output)
      ? result.output
      : await readRegularFile(join(context.home, "logs", "launcher.log"), maxLogBytes).then(
          (bytes) => bytes.toString("utf8"),
          () => "",
        );
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-maxLines).map((line) => hideSecrets(sanitizeLine(line).slice(0, 400)));
}

/** Many times the size of the file that this command writes. */
const maxBytes = 1024 * 1024;

const readInstalled = ({ file }: ServiceManager): Promise<Buffer | undefined> =>
  readRegularFile(file, maxBytes).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw new Error(`Cannot read ${file}: ${describeErrno(error)}.`, { cause: error });
  });

function requireReachable({ probe, explain }: ServiceManager, context: CommandContext): void {
  const result = probe && run(probe, context);
  if (result && result.code !== 0) throw new Error(explain(result));
}

const stateOf = (manager: ServiceManager, context: CommandContext): string | undefined =>
  manager.state(run(manager.query, context));

/** Systemd knows a state of units that do not exist. */
const isActive = (state: string | undefined): boolean =>
  state !== undefined && !/^(?:inactive|failed)/.test(state);

/** UTF-16 needs a byte order mark. */
const bytesOf = ({ content, encoding }: ServiceManager): Buffer =>
  Buffer.from(`${encoding === "utf16le" ? "\uFEFF" : ""}${content}`, encoding);

function warn({ env, say }: CommandContext, { isExperimental, title }: ServiceManager): void {
  if (isExperimental) say(`note: the ${title} is experimental. Please report whether it works.\n`);
  if (process.getuid?.() === 0)
    say("note: the service runs as root. Run the command as the user who should own it.\n");
  const names = Object.keys(env).filter((name) => /^SERVICE_(?!HOME$)/.test(name));
  if (names.length === 0) return;
  say(
    `note: the service does not get the variables of this terminal (${names.join(", ")}). ` +
      'Store settings and tokens in the files: "doorward token set", docs/configuration.md\n',
  );
}

/** Runs steps in their order. @throws an error with the output of the first one that fails. */
function perform(steps: readonly Step[], context: CommandContext): void {
  for (const step of steps) {
    const { code, output } = run(step, context);
    if (code === 0 || step.mayFail) continue;
    const reason = sanitizeLine(output.trim()) || `exit code ${code ?? "unknown"}`;
    throw new Error(`"${step.command.join(" ")}" failed: ${reason}`);
  }
}

function run({ command: [program, ...words] }: Step, { env }: CommandContext): StepResult {
  const {
    status: code,
    stdout,
    stderr,
    error,
  } = spawnSync(program, words, {
    env: Object.fromEntries(
      Object.entries(env).filter(([name]) => !/^SERVICE_.*TOKEN$/.test(name)),
    ),
    encoding: "utf8",
    timeout: 60_000,
    windowsHide: true,
  });
  const isMissing = (error as NodeJS.ErrnoException | undefined)?.code === "ENOENT";
  if (error && !isMissing) return { code: -1, output: error.message };
  return { code: isMissing ? undefined : (code ?? -1), output: `${stdout ?? ""}${stderr ?? ""}` };
}

/** Prints what an action would do: the file, and the commands around it. */
function print(
  context: CommandContext,
  { file }: ServiceManager,
  steps: readonly Step[],
  content?: string,
): number {
  const commands = steps.map(({ command }) => command.join(" "));
  if (context.json) {
    printJson(context, { file, content, commands });
    return exitCodes.done;
  }
  context.out(`# ${content === undefined ? "Removes" : "Writes"} ${file}\n${content ?? ""}`);
  for (const command of commands) context.out(`# Runs ${command}\n`);
  return exitCodes.done;
}

function report(
  context: CommandContext,
  { title, file }: ServiceManager,
  result: string,
  hints: readonly string[] = [],
): number {
  if (context.json) printJson(context, { service: title, file, result });
  else {
    context.out(`The service is ${result} (${title}): ${file}\n`);
    for (const hint of hints) context.say(`${hint}\n`);
  }
  return exitCodes.done;
}
