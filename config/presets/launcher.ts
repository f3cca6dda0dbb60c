// The standalone launcher as a kernel.
import { join } from "node:path";
import { createKernel, type AnyPlugin, type Log } from "../../kernel/index.ts";
import { agUi } from "../../plugins/protocols/ag-ui/index.ts";
import { aiSdk } from "../../plugins/protocols/ai-sdk/index.ts";
import { acp } from "../../plugins/acp/index.ts";
import { program } from "../../plugins/program/index.ts";
import { configuredRedis } from "../../plugins/redis/index.ts";
import { backup, noteMade } from "../../plugins/backup/index.ts";
import { channels } from "../../plugins/channels/index.ts";
import { conversations, type BeforeUpgrade } from "../../plugins/conversations/index.ts";
import {
  dashboard,
  type Doctor,
  type LogSource,
  type PublicCheck,
  type PluginView,
  type TokenWay,
} from "../../plugins/dashboard/index.ts";
import { decisions } from "../../plugins/decisions/index.ts";
import { echo } from "../../plugins/echo/index.ts";
import { gateway, http } from "../../plugins/http/index.ts";
import { keys } from "../../plugins/keys/index.ts";
import { media } from "../../plugins/media/index.ts";
import { openai } from "../../plugins/protocols/openai/index.ts";
import { picoClient } from "../../plugins/pico-client/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { push } from "../../plugins/push/index.ts";
import { records } from "../../plugins/records/index.ts";
import { settings } from "../../plugins/settings/index.ts";
import { files, tokenStore } from "../../plugins/token-store/index.ts";
import type { TrayOptions } from "../../plugins/tray/index.ts";
import { defined } from "../../lib/util.ts";
import { readPlaces } from "../backup/places.ts";
import { foreignSecrets } from "../foreign/index.ts";
import {
  resolveHandler,
  handlerSecrets,
  watchHandler,
  type GivenProgram,
} from "../handler/index.ts";
import type { Environment, Places } from "../load/index.ts";
import { controlSocketPaths } from "../control-socket.ts";
import { loadWithPlugins, toPluginViews } from "../plugins/index.ts";
import { filedUrl } from "./filed-url.ts";
import { readStoreSecrets } from "./store-secrets.ts";

interface LauncherOptions {
  readonly home: string;
  /** A copy of the environment. */
  readonly env: Environment;
  /** Path of `config.json`. @defaultValue in the home */
  readonly config?: string;
  /** Settings of the section `launcher` that override files and environment. */
  readonly flags?: { readonly port?: number; readonly host?: string; readonly public?: boolean };
  readonly version: string;
  /** The command that starts this launcher, for hints on pages. @defaultValue `"doorward"` */
  readonly command?: string;
  readonly log: Log;
  /** Called with every token that is read or written, so that logs can redact it. */
  readonly secret?: (value: string) => void;
  /** Removes secrets from output of programs and third-party plugins. */
  readonly redact?: (text: string) => string;
  /** Called with the launcher token if it was generated. */
  readonly generated?: (value: string) => void;
  /** Returns the ways in which the owner can see the launcher token. */
  readonly ways?: () => readonly TokenWay[];
  /** The program that answers messages, instead of `handler` in `config.json`. */
  readonly program?: GivenProgram;
  /** Source of the page Activity. */
  readonly logSource?: LogSource;
  /** Process id for commands of the owner; absent: no control socket. */
  readonly pid?: number;
  /** True if another launcher of this home answers commands, so that it does not stop. */
  readonly isRunning?: boolean;
  /** Options of the tray icon; absent: the plugin is not loaded. */
  readonly tray?: Pick<TrayOptions, "open" | "quit" | "required" | "shown">;
}

/**
 * Creates the kernel of the standalone launcher: dashboard, pico channel, tokens and settings in
 * the files of the home, and the application that `handler` in `config.json` names.
 */
export async function createLauncher(options: LauncherOptions) {
  const { home, env, config, log, secret, generated, isRunning } = options;
  const places = defined({ home, env, config });
  const base = [
    http(),
    gateway(),
    keys(),
    decisions(),
    picoServer({ enabled: false }),
    openai({ enabled: false }),
    aiSdk({ enabled: false }),
    agUi({ enabled: false }),
    picoClient({ home, env, filedUrl: () => filedUrl(places) }),
  ] as const;
  const store = conversations({
    home,
    ...(isRunning && { lockWaitMs: 0 }),
    beforeUpgrade: (upgrade) => backUpBefore(upgrade, options, places),
    redis: configuredRedis(() => readStoreSecrets({ home, env, secret })),
  });
  const kept = records({ home, ...(isRunning && { lockWaitMs: 0 }) });
  const mediaFiles = media({ home, searchPath: env["PATH"] ?? "/usr/bin:/bin" });
  const backups = await createBackups(options, places);
  const plugins = (): PluginView[] => toPluginViews(loaded.found, kernel.health());
  let isEcho = false;
  const board = createDashboard(options, places, { plugins, echoes: () => isEcho });
  const notifications = push();
  const loaded = await loadSettings(options, places, [
    ...[store, mediaFiles, backups],
    ...base,
    board,
    notifications,
  ]);
  const file = config ?? join(home, "config.json");
  const app = await createApplication(options, loaded.handler, file);
  isEcho = app.name === "echo";
  const form = files(defined({ ...places, secret, generated }));
  const optional = [
    ...(options.program ? [] : [watchHandler(file, loaded.handler)]),
    ...(await createTray(options)),
    ...loaded.found.flatMap(({ plugin }) => plugin ?? []),
  ];
  const own = [tokenStore(form), settings(loaded.sources), store, kept, mediaFiles] as const;
  const first = [...own, backups, channels(), ...base] as const;
  const kernel = createKernel([...first, app, board, notifications], {
    config: loaded.config,
    log,
    plugins: optional,
  });
  return Object.assign(kernel, { pluginViews: plugins });
}
export type Launcher = Awaited<ReturnType<typeof createLauncher>>;

/** Makes a backup of a home whose conversations are brought to a later version of their tables. */
async function backUpBefore(
  { from, to, at }: Parameters<BeforeUpgrade>[0],
  { home, env, version, log }: LauncherOptions,
  where: Places,
): Promise<void> {
  const { createBackup, toMade } = await import("../backup/create.ts");
  const found = await readPlaces(where);
  const file = join(found.folder, `doorward-before-schema-${to}.tar`);
  const made = await createBackup({ home, env, file, places: found, version, now: at });
  await noteMade(home, toMade(made), at);
  log.info({ file, from, to }, "a backup was made before the conversations are upgraded");
}

async function createBackups({ home, env }: LauncherOptions, where: Places) {
  const places = await readPlaces(where);
  return backup({
    home,
    places,
    async make(file, signal) {
      const { backupInChild } = await import("../backup/child.ts");
      return backupInChild(file, { home, env, signal });
    },
  });
}

function createDashboard(
  options: LauncherOptions,
  places: Places,
  { plugins, echoes }: { plugins: () => PluginView[]; echoes: () => boolean },
) {
  const { home, env, version, log, ways, logSource, pid } = options;
  const { socket, note } = controlSocketPaths(home, env);
  if (socket === undefined)
    log.warn({ home }, "no control socket: its path is too long; set XDG_RUNTIME_DIR");
  const local = pid === undefined || socket === undefined ? undefined : { socket, note, pid };
  const doctor: Doctor = async (running) =>
    (await import("../doctor/index.ts")).runDoctor({
      ...places,
      running,
      now: running.now,
      version,
    });
  const publicCheck: PublicCheck = async (grant, { report, ...check }) =>
    (await import("../doctor/public/index.ts")).checkPublic({ ...check, grant, say: report });
  const signInFile = join(home, "state", "sign-ins.json");
  const runCommand = runCommandOf(options);
  return dashboard(
    defined({
      version,
      runCommand,
      echoes,
      plugins,
      doctor,
      publicCheck,
      signInFile,
      ways,
      log: logSource,
      local,
    }),
  );
}

/** A launcher that is started with a program instead needs the same flags. */
function runCommandOf({ command: name = "doorward", flags = {} }: LauncherOptions) {
  const { port, host, public: isPublic } = flags;
  const words = [
    ...(port === undefined ? [] : ["-port", String(port)]),
    ...(host === undefined ? [] : ["-host", host]),
    ...(isPublic === true ? ["-public"] : []),
  ];
  return [name, "run", ...words, "--"].join(" ");
}

/** Loads settings and third-party plugins, and logs what is wrong with them. */
async function loadSettings(
  { home, flags = {}, log, redact, secret }: LauncherOptions,
  places: Places,
  builtIn: readonly AnyPlugin[],
) {
  const loaded = await loadWithPlugins({
    ...places,
    builtIn,
    taken: [
      ...["token-store", "settings", "records", "channels"],
      ...["echo", "program", "acp", "handler", "tray"],
    ],
    flags: { launcher: { ...flags } },
    redact: redact ?? ((text) => text),
  });
  for (const { from, problem } of loaded.found)
    if (problem !== undefined) log.error({ plugin: from }, problem);
  for (const warning of [...loaded.warnings, ...(await foreignSecrets(home))])
    log.warn({}, warning);
  for (const value of handlerSecrets(loaded.handler)) secret?.(value);
  return loaded;
}

/** Creates the program or agent of the command line or of `handler`, else the echo. */
async function createApplication(options: LauncherOptions, handler: unknown, file: string) {
  const { home, env, redact, version, program: given } = options;
  const resolved = await resolveHandler(handler, { home, env, file, given });
  if (!resolved) return echo();
  const application =
    resolved.kind === "acp"
      ? acp(defined({ ...resolved.options, redact, version }))
      : program(defined({ ...resolved.options, redact }));
  return application as unknown as ReturnType<typeof echo>;
}

async function createTray({ env, version, logSource, tray: options }: LauncherOptions) {
  if (!options) return [];
  const { tray } = await import("../../plugins/tray/index.ts");
  return [tray({ env, version, hasLog: logSource !== undefined, ...options })];
}
