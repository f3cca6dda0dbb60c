// Starts the launcher in this process and ends with it.
import { join, resolve } from "node:path";
import { createLauncher, type Launcher } from "../config/presets/launcher.ts";
import { ensureHome } from "../lib/files/index.ts";
import { codeOf, type Log } from "../kernel/index.ts";
import type { Environment } from "../config/load/index.ts";
import type { Program } from "../plugins/program/index.ts";
import type { SignInLink, TokenWay } from "../plugins/dashboard/index.ts";
import type { LauncherArguments } from "./arguments.ts";
import { banner, startFailureRemedy } from "./banner.ts";
import { writeCache } from "./compile-cache/cache.ts";
import type { CompiledFiles } from "./compile-cache/loader.ts";
import { isRemote } from "./desktop.ts";
import { homeOf, createRandom } from "./environment.ts";
import { createSignInPages, unusedMs, type SignInPages } from "./sign-in-page.ts";
import { createLog, logSource, type LauncherLog } from "./log/index.ts";

export interface LaunchOptions extends LauncherArguments {
  readonly env: Environment;
  readonly version: string;
  /** What this start compiled and the next one need not; undefined: nothing new. */
  readonly compiled?: () => CompiledFiles | undefined;
}

/** Starts the launcher and lives until a signal; resolves to the exit code. */
export async function launch(options: LaunchOptions): Promise<number> {
  const { env, debug } = options;
  const home = homeOf(env);
  const log = await openLog(home, options);
  let kernel: Launcher | undefined;
  let shutdownSignal: ShutdownSignal | undefined;
  let keeping: NodeJS.Timeout | undefined;
  const pages = createSignInPages({ home, env });
  try {
    const quitting = new AbortController();
    kernel = await buildKernel(home, log, { ...options, pages }, () => quitting.abort());
    shutdownSignal = waitForShutdown(kernel, log, quitting.signal);
    await kernel.start();
    removeUsed(pages, kernel);
    await printBanner(kernel, home, pages, options);
    keeping = setTimeout(() => void writeCompileCache(home, options, log.log), cacheDelayMs);
    return await shutdownSignal.code;
  } catch (error) {
    if (shutdownSignal?.hasBegun()) return await shutdownSignal.code; // the start was called off
    await kernel?.stop({ timeoutMs: stopTimeoutMs(kernel) });
    const unknown = codeOf(error) === "internal";
    const reason = unknown
      ? ""
      : `${(error as Error).message}${await startFailureRemedy(codeOf(error), home, env)}`;
    const fields = unknown || debug ? { err: error } : { code: codeOf(error), reason };
    log.log.error(fields, "the launcher cannot start");
    const sentence = unknown ? "an internal error stopped the start; -debug shows it" : reason;
    process.stderr.write(
      `doorward: ${sentence}\n${debug && error instanceof Error ? `${error.stack}\n` : ""}`,
    );
    return 1;
  } finally {
    clearTimeout(keeping);
    log.close();
    // What a plugin by others left running keeps nobody from ending.
    setTimeout(() => process.exit(), lingerMs).unref();
  }
}
const lingerMs = 500;

/** Removes the pages that led a browser here, also those of `doorward open`: once a link is spent,
 *  after a while, and at the end. */
function removeUsed(pages: SignInPages, kernel: Launcher): void {
  pages.sweep(unusedMs);
  kernel.on("dashboard:signed-in", ({ via }) => {
    if (via === "link" || via === "setup") pages.sweep(0);
  });
  setInterval(() => pages.sweep(unusedMs), unusedMs / 2).unref();
  process.once("exit", () => pages.sweep(0));
}
/** By then the start is over, and what it called is compiled. */
const cacheDelayMs = 3_000;

/** For the next start. Where it cannot be kept, as in a home that is only read, that one compiles again. */
async function writeCompileCache(
  home: string,
  { env, compiled }: LaunchOptions,
  log: Log,
): Promise<void> {
  try {
    if (compiled) await writeCache(home, env, compiled);
  } catch (error) {
    log.debug(
      { code: codeOf(error), reason: (error as Error).message },
      "compiled code is not kept",
    );
  }
}

/** The log file lies in the home; where that cannot be made, standard error gets the log. */
async function openLog(
  home: string,
  { debug, console: isConsole, program }: LaunchOptions,
): Promise<LauncherLog> {
  // A home that cannot be made stops the start only when something must be written to it.
  const warnings = await ensureHome(home).then(
    (state) => state.warnings,
    () => [],
  );
  const log = await createLog({
    file: join(home, "logs", "launcher.log"),
    level: debug ? "debug" : "info",
    pretty: process.stderr.isTTY,
    stderr: process.stderr,
    ...(isConsole || debug || program ? { stdout: process.stderr } : {}),
    ...(isConsole || debug ? {} : { shows: (line: string) => runModeLines.test(line) }),
  });
  for (const warning of warnings) log.log.warn({ home }, warning);
  return log;
}

/** With "run", who started it sees what the program says, and warnings; why a start failed is said in a sentence. */
const runModeLines =
  /^\{"level":(?:30,"time":"[^"]*","plugin":"program"|40|[56]0,"time":"[^"]*","plugin")/;

async function buildKernel(
  home: string,
  log: LauncherLog,
  options: LaunchOptions & { readonly pages: SignInPages },
  quit: () => void,
): Promise<Launcher> {
  const { env, version, config, tray = !options.console } = options;
  const { port, host, public: open } = options;
  let hasTray = false;
  let isLogged = false;
  const ways = (): TokenWay[] => {
    if (env["SERVICE_LAUNCHER_TOKEN"]?.trim()) return ["env"];
    // What the log holds may have been replaced since then.
    const inLog = isLogged && kernel.state() === "setup";
    const shown: (TokenWay | false)[] = [
      hasTray && "tray",
      options.console && "console",
      inLog && "log",
    ];
    return [...shown.filter((way) => way !== false), "command", "file"];
  };
  const kernel = await createLauncher({
    home,
    env,
    version,
    log: log.log,
    ways,
    pid: process.pid,
    random: createRandom(),
    ...(log.file === undefined ? {} : { logSource: logSource({ ...log, file: log.file }) }),
    ...(config === undefined ? {} : { config: resolve(config) }),
    flags: {
      ...(port === undefined ? {} : { port }),
      ...(host === undefined ? {} : { host }),
      ...(open === undefined ? {} : { public: open }),
    },
    ...(tray && {
      tray: {
        open: options.pages.open,
        quit,
        required: options.tray === true,
        shown: (is: boolean) => {
          hasTray = is;
        },
      },
    }),
    ...(options.program ? { program: { command: options.program, cwd: process.cwd() } } : {}),
    secret: (value) => log.redactor.add(value),
    redact: log.redactor.redact,
    generated: (value) => {
      if (!options.console) isLogged = log.firstRun(`launcher token (first run): ${value}`);
    },
  });
  return kernel;
}

/** What the listeners and the applications get, and before that the clients of the channel. */
function stopTimeoutMs({ services }: Launcher): number {
  const { picoServer } = services as Partial<Launcher["services"]>; // absent while it starts
  return 1_800 + (picoServer?.stopSeconds() ?? 0) * 1_000;
}

interface ShutdownSignal {
  readonly code: Promise<number>;
  hasBegun(): boolean;
}

/** Stops at a signal, at its owner's wish, and with exit code 1 at an error that nobody has caught, as plugins by
 *  others may have them. A second one of these, SIGHUP aside, ends the process at once. */
function waitForShutdown(
  kernel: Launcher,
  log: LauncherLog,
  quitting: AbortSignal,
): ShutdownSignal {
  let stopping = false;
  const code = new Promise<number>((done) => {
    const stop = (how: number): void => {
      if (stopping) process.exit(1);
      stopping = true;
      void kernel.stop({ timeoutMs: stopTimeoutMs(kernel) }).then(() => done(how));
    };
    const told = (signal: NodeJS.Signals | "quit"): void => {
      log.log.info({ signal }, "stopping");
      stop(0);
    };
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, told);
    process.on("SIGHUP", (signal) => {
      if (!stopping) told(signal); // a terminal that closes says so twice: by its shell, and when that has ended
    });
    quitting.addEventListener("abort", () => told("quit"));
    process.on("uncaughtException", (error) => {
      log.log.error({ err: error }, "an error that nobody caught: stopping");
      process.stderr.write("doorward: an internal error ends the launcher; launcher.log has it\n");
      stop(1);
    });
  });
  return { code, hasBegun: () => stopping };
}

/** Prefers the private host name: the browser sends its cookie to no other local program. */
function linkToOpen(link: SignInLink, toUrl: (path: string) => URL): URL {
  return link.privateUrl === undefined ? toUrl(link.path) : new URL(link.privateUrl);
}

async function printBanner(
  kernel: Launcher,
  home: string,
  pages: SignInPages,
  options: LaunchOptions,
): Promise<void> {
  const { tokens, tokenSecrets, http, signInLinks, picoServer } = kernel.services;
  const { program } = kernel.services as { program?: Program };
  const addresses = http.addresses();
  const { source } = tokens.info("launcher");
  const state = kernel.state();
  const path = (relative: string): URL => new URL(relative, addresses[0]);
  const opened = options.browser && (await pages.open(linkToOpen(signInLinks.mint(), path)));
  const isNew = source === "random" || state === "setup";
  const shows = options.console && (isNew || (source === "config" && process.stdout.isTTY));
  const value = shows ? tokenSecrets.reveal("launcher") : undefined;
  const channel = picoServer.url();
  process.stdout.write(
    banner({
      version: options.version,
      home,
      addresses,
      state,
      source,
      opened,
      link: path(signInLinks.mint().path).href,
      remote: isRemote(options.env),
      ...(value === undefined ? {} : { token: value }),
      ...(value === undefined && source !== "env"
        ? { tokenHint: "to see it: doorward token show" }
        : {}),
      ...(channel === undefined ? {} : { channel }),
      ...(program ? { program: program.status().command } : {}),
    }),
  );
}
