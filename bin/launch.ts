// Runs the launcher in this process until a signal, an error or the tray stops it.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { interruptedRestore } from "../config/backup/interrupted.ts";
import { recordHomeVersion } from "../config/home-version.ts";
import { createLauncher, type Launcher } from "../config/presets/launcher.ts";
import { ensureHome, isAlive, processStartTime } from "../lib/files/index.ts";
import { codeOf, type Log } from "../kernel/index.ts";
import { defined } from "../lib/util.ts";
import { envFileMarks } from "../config/load/env-file-marks.ts";
import { loadErrors, type Environment } from "../config/load/index.ts";
import type { Program } from "../plugins/program/index.ts";
import type { TokenWay } from "../plugins/dashboard/index.ts";
import type { LauncherArguments } from "./arguments.ts";
import { banner, isRunning, startFailureSentence } from "./banner.ts";
import { sanitize } from "./client/text.ts";
import { isRemote } from "./desktop.ts";
import { homeOf } from "./environment.ts";
import { createSignInPages, unusedMs, type SignInPages } from "./sign-in-page.ts";
import { createLog, logSource, type LauncherLog } from "./log/index.ts";

interface LaunchOptions extends LauncherArguments {
  /** Writes the name of this command into the hints of a text. */
  readonly hinted: (text: string) => string;
  /** The command that started this process. */
  readonly commandName: string;
  readonly env: Environment;
  readonly version: string;
}

/** Runs the launcher until it is stopped and resolves with the exit code. */
export async function launch(options: LaunchOptions): Promise<number> {
  const { env, debug } = options;
  const home = homeOf(env);
  const unfinished = await interruptedRestore(home);
  if (unfinished !== undefined) {
    process.stderr.write(sanitize(`doorward: ${options.hinted(unfinished)}\n`));
    return 1;
  }
  const log = await openLog(home, options);
  await recordVersion(home, options, log.log);
  let kernel: Launcher | undefined;
  let shutdownSignal: ReturnType<typeof waitForShutdown> | undefined;
  const pages = createSignInPages({ home, env });
  try {
    if (options.workers !== undefined) throw loadErrors.WORKERS_REMOVED("-workers");
    if (env["SERVICE_WORKERS"]?.trim()) throw loadErrors.WORKERS_REMOVED("SERVICE_WORKERS");
    const quitting = new AbortController();
    kernel = await buildKernel(home, log, { ...options, pages }, () => quitting.abort());
    shutdownSignal = waitForShutdown(kernel, log, quitting.signal, env);
    await kernel.start();
    removeUsed(pages, kernel);
    await printBanner(kernel, home, pages, options);
    return await shutdownSignal.code;
  } catch (error) {
    if (shutdownSignal?.hasBegun()) return await shutdownSignal.code; // startup was aborted
    await kernel?.stop({ timeoutMs: stopTimeoutMs(kernel) });
    const isInternal = codeOf(error) === "internal";
    const own = await startFailureSentence(error as Error, home, env);
    const reason = isInternal ? "" : own;
    const fields = isInternal || debug ? { err: error } : { code: codeOf(error), reason };
    log.log.error(fields, "startup failed");
    const sentence = isInternal
      ? "Startup failed with an internal error. Run again with -debug for details."
      : reason;
    const details = debug && error instanceof Error ? `${error.stack}\n` : "";
    process.stderr.write(sanitize(`doorward: ${options.hinted(sentence)}\n${details}`));
    return 1;
  } finally {
    log.close();
    // Timers and sockets that a third-party plugin left open must not keep the process alive.
    setTimeout(() => process.exit(), lingerMs).unref();
  }
}
const lingerMs = 500;

/** Removes the pages that open a browser, also those of `doorward open`: after a sign-in, when they
 *  are old, and at exit. */
function removeUsed(pages: SignInPages, kernel: Launcher): void {
  pages.sweep(unusedMs);
  kernel.on("dashboard:signed-in", ({ via }) => {
    if (via === "link" || via === "setup") pages.sweep(0);
  });
  setInterval(() => pages.sweep(unusedMs), unusedMs / 2).unref();
  process.once("exit", () => pages.sweep(0));
}

/** Without it, as in a read-only home, the doctor cannot tell what an update changes. */
async function recordVersion(home: string, { version }: LaunchOptions, log: Log): Promise<void> {
  try {
    const previous = await recordHomeVersion(home, version, Date.now());
    if (previous !== undefined) log.info({ previous, version }, "another version used this home");
  } catch (error) {
    log.debug({ code: codeOf(error) }, "the version was not stored");
  }
}

/** Opens the log file in the home; without a home, logs to standard error. */
async function openLog(
  home: string,
  { debug, console: isConsole, program, env }: LaunchOptions,
): Promise<LauncherLog> {
  // Startup works without a home as long as nothing has to be written to it.
  const warnings = await ensureHome(home).then(
    (state) => state.warnings,
    () => [],
  );
  const log = await createLog({
    file: join(home, "logs", "launcher.log"),
    level: debug ? "debug" : "info",
    pretty: process.stderr.isTTY,
    colours: hasColours(env, process.stderr.isTTY),
    stderr: process.stderr,
    ...(isConsole || debug || program ? { stdout: process.stderr } : {}),
    shows: (line) => (isConsole || debug ? !startupFailed.test(line) : runModeLines.test(line)),
  });
  for (const warning of warnings) log.log.warn({ home }, warning);
  return log;
}

/** Colours are for terminals, unless the user has switched them off (no-color.org). */
const hasColours = ({ NO_COLOR = "", TERM }: Environment, isTerminal: boolean): boolean =>
  isTerminal && NO_COLOR === "" && TERM !== "dumb";

/** The sentence after the end of the start says the reason. */
const startupFailed = /"msg":"startup failed"\}$/m;

/** With "run", the terminal shows output of the program and warnings. A startup failure is printed
 *  separately. */
const runModeLines =
  /^\{"level":(?:30,"time":"[^"]*","plugin":"(?:program|acp)"|40|[56]0,"time":"[^"]*","plugin")/;

async function buildKernel(
  home: string,
  log: LauncherLog,
  options: LaunchOptions & { readonly pages: SignInPages },
  quit: () => void,
): Promise<Launcher> {
  const { env, version, config, port, host, public: isPublic, program } = options;
  let hasTray = false;
  let isTokenLogged = false;
  const ways = (): TokenWay[] => {
    if (env["SERVICE_LAUNCHER_TOKEN"]?.trim()) return ["env"];
    // After setup the logged token may have been replaced.
    const isInLog = isTokenLogged && kernel.state() === "setup";
    return [
      ...(hasTray ? (["tray"] as const) : []),
      ...(options.console ? (["console"] as const) : []),
      ...(isInLog ? (["log"] as const) : []),
      "command",
      "file",
    ];
  };
  const tray = {
    open: options.pages.open,
    quit,
    required: options.tray === true,
    shown: (isShown: boolean) => {
      hasTray = isShown;
    },
  };
  const kernel = await createLauncher({
    ...defined({
      logSource: log.file === undefined ? undefined : logSource({ ...log, file: log.file }),
      config: config && resolve(config),
      program: program && { command: program, cwd: process.cwd(), isAcp: options.isAcp === true },
      tray: (options.tray ?? !options.console) ? tray : undefined,
    }),
    home,
    env,
    version,
    command: options.commandName,
    log: log.log,
    ways,
    pid: process.pid,
    isRunning: await isRunning(home, env),
    flags: defined({ port, host, public: isPublic }),
    secret: (value) => log.redactor.add(value),
    redact: log.redactor.redact,
    generated: (value) => {
      if (!options.console) isTokenLogged = log.firstRun(`launcher token (first run): ${value}`);
    },
  });
  return kernel;
}

/** Time for listeners and applications, after the grace period of the channel. */
function stopTimeoutMs({ services }: Launcher): number {
  const { picoServer } = services as Partial<Launcher["services"]>; // absent during startup
  return 1_800 + (picoServer?.stopSeconds() ?? 0) * 1_000;
}

/** Stops the kernel at a signal, by the tray, after the end of npm, and with exit code 1 after an
 *  uncaught error, for example of a third-party plugin. A second such event, except SIGHUP, exits
 *  immediately. */
function waitForShutdown(
  kernel: Launcher,
  log: LauncherLog,
  quitting: AbortSignal,
  env: Environment,
) {
  let stopping = false;
  const code = new Promise<number>((done) => {
    const stop = (exitCode: number): void => {
      if (stopping) process.exit(1);
      stopping = true;
      void kernel.stop({ timeoutMs: stopTimeoutMs(kernel) }).then(() => done(exitCode));
    };
    const stopFor = (signal: string): void => {
      log.log.info({ signal }, "stopping");
      stop(0);
    };
    const stopOnce = (signal: string): void => {
      if (!stopping) stopFor(signal);
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stopFor);
    process.on("SIGHUP", stopOnce); // a closing terminal sends it twice
    quitting.addEventListener("abort", () => stopFor("quit"));
    watchNpm(env, () => stopOnce("npm ended")); // Ctrl+C in a terminal reaches both
    process.on("uncaughtException", (error) => {
      log.log.error({ err: error }, "uncaught error: stopping");
      process.stderr.write("doorward: stopped after an internal error; see launcher.log\n");
      stop(1);
    });
  });
  return { code, hasBegun: () => stopping };
}

/** Returns the protocols of other products that are on, with the URLs for their clients. */
function runningProtocols({ services }: Launcher): readonly { title: string; url: string }[] {
  const all = [
    { title: "OpenAI API", url: services.openai.status().url },
    { title: "AI SDK", url: services.aiSdk.status().url },
    { title: "AG-UI", url: services.agUi.status().url },
  ];
  return all.flatMap(({ title, url }) => (url === undefined ? [] : { title, url }));
}

async function printBanner(
  kernel: Launcher,
  home: string,
  pages: SignInPages,
  options: LaunchOptions,
): Promise<void> {
  const { tokens, tokenSecrets, http, signInLinks, picoServer, conversations } = kernel.services;
  const { program } = kernel.services as { program?: Program };
  const addresses = http.addresses();
  const { source } = tokens.info("launcher");
  const state = kernel.state();
  const toUrl = (relative: string): URL => new URL(relative, addresses[0]);
  const link = options.browser ? signInLinks.mint() : undefined;
  // The browser sends the cookie of the private host name to no other local program.
  const opened = link !== undefined && (await pages.open(toUrl(link.privateUrl ?? link.path)));
  const isNew = source === "random" || state === "setup";
  const showsToken = options.console && (isNew || (source === "config" && process.stdout.isTTY));
  const token = showsToken ? tokenSecrets.reveal("launcher") : undefined;
  process.stdout.write(
    options.hinted(
      banner({
        version: options.version,
        home,
        addresses,
        state,
        source,
        opened,
        link: toUrl(signInLinks.mint().path).href,
        remote: isRemote(options.env),
        token,
        channel: picoServer.url(),
        protocols: runningProtocols(kernel),
        program: program?.status().command,
        environmentProblems: envFileMarks(options.env, "service"),
        storeProblem: conversations.health().problem,
        pluginProblems: kernel
          .pluginViews()
          .flatMap(({ name, state: phase, reason = "" }) =>
            phase === "failed" ? [`${name} failed: ${reason}`] : [],
          ),
      }),
    ),
  );
}

/** The check reads two small files of the kernel. */
const intervalMs = 1_000;

/**
 * Calls `ended` up to one second after the end of npm, yarn or pnpm, if one of them started this
 * process. npm passes a signal to the shell that it starts, and that shell ends without passing it
 * on. A launcher whose shell ends continues otherwise, as other servers do. The timer keeps no
 * process alive.
 */
function watchNpm(env: Environment, ended: () => void): void {
  if (env["npm_lifecycle_event"] === undefined && env["npm_command"] === undefined) return;
  const first = process.ppid;
  const watched = [first, ...parentOfShell(first)].map((pid) => ({
    pid,
    start: processStartTime(pid),
  }));
  const timer = setInterval(() => {
    // Windows reports the number of a parent that no longer exists.
    if (process.ppid === first && watched.every(({ pid, start }) => isAlive(pid, start))) return;
    clearInterval(timer);
    ended();
  }, intervalMs);
  timer.unref();
}

/**
 * On Linux: npm, if a shell is between npm and this process. Such a shell continues after npm was
 * killed. Elsewhere only the shell is watched.
 */
function parentOfShell(pid: number): readonly number[] {
  try {
    const [, name, parent] =
      /^\d+ \((.*)\) \S (\d+) /s.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
    return name === "sh" && parent !== undefined && parent !== "0" ? [Number(parent)] : [];
  } catch {
    return []; // not Linux
  }
}
