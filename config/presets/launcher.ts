import { join } from "node:path";
import { createKernel, type Clock, type Log } from "../../kernel/index.ts";
import { program } from "../../plugins/program/index.ts";
import { channels } from "../../plugins/channels/index.ts";
import {
  dashboard,
  type LogSource,
  type PluginView,
  type TokenWay,
} from "../../plugins/dashboard/index.ts";
import { echo } from "../../plugins/echo/index.ts";
import { gateway, http } from "../../plugins/http/index.ts";
import { picoClient } from "../../plugins/pico-client/index.ts";
import { picoServer } from "../../plugins/pico-server/index.ts";
import { settings } from "../../plugins/settings/index.ts";
import { files, tokenStore } from "../../plugins/token-store/index.ts";
import type { TrayOptions } from "../../plugins/tray/index.ts";
import { foreignSecrets } from "../foreign/index.ts";
import {
  resolveProgram,
  handlerSecrets,
  watchHandler,
  type GivenProgram,
} from "../handler/index.ts";
import type { Environment } from "../load/index.ts";
import { controlSocketPaths } from "../control-socket.ts";
import { loadWithPlugins, toPluginViews } from "../plugins/index.ts";

export interface LauncherOptions {
  readonly home: string;
  /** A copy of the environment. */
  readonly env: Environment;
  /** First part of variables, files and cookies in lower case; default `service`. */
  readonly brand?: string;
  /** `config.json` elsewhere than in the home. */
  readonly config?: string;
  /** Settings of the section `createLauncher` that stand above files and environment. */
  readonly flags?: { readonly port?: number; readonly host?: string; readonly public?: boolean };
  readonly version: string;
  readonly log: Log;
  readonly clock?: Clock;
  /** That many bytes nobody can foresee. */
  readonly random?: (bytes: number) => Uint8Array;
  /** Told every token that is read or written, so that logs can keep it out. */
  readonly secret?: (value: string) => void;
  /** Takes secrets out of what programs and plugins by other authors say. */
  readonly redact?: (text: string) => string;
  /** Told the launcher token when it was generated. */
  readonly generated?: (value: string) => void;
  /** The ways in which the owner can see the launcher token. */
  readonly ways?: () => readonly TokenWay[];
  /** The program that answers, in place of what `handler` in `config.json` says. */
  readonly program?: GivenProgram;
  /** For the log page. */
  readonly logSource?: LogSource;
  /** This process, for the command line of the same owner; without it there is no socket for commands. */
  readonly pid?: number;
  /** Shows an icon in the panel of the desktop; without it nothing of it is loaded. */
  readonly tray?: Pick<TrayOptions, "open" | "quit" | "required" | "shown">;
}

/** The standalone launcher: dashboard, pico channel, tokens and settings in the home's files, and as application the
 *  `handler` of `config.json`. */
export async function createLauncher(options: LauncherOptions) {
  const {
    home,
    env,
    brand = "service",
    config,
    flags = {},
    version,
    log,
    clock,
    secret,
    generated,
    ways,
  } = options;
  const places = { home, env, brand, ...(config === undefined ? {} : { config }) };
  const listener = http();
  const second = gateway();
  const pico = picoServer({ envPrefix: brand.toUpperCase() });
  const remote = picoClient({ home, env, envPrefix: brand.toUpperCase() });
  const { socket, note } = controlSocketPaths(home, env);
  if (socket === undefined)
    log.warn({ home }, "no socket for commands: its path is too long; set XDG_RUNTIME_DIR");
  const plugins = (): PluginView[] => toPluginViews(loaded.found, kernel.health());
  const board = dashboard({
    brand,
    version,
    plugins,
    doctor: async (running) =>
      (await import("../doctor/index.ts")).runDoctor({
        ...places,
        running,
        now: running.now,
        plugins: plugins(),
      }),
    signInFile: join(home, "state", "sign-ins.json"),
    ...(ways ? { ways } : {}),
    ...(options.logSource ? { log: options.logSource } : {}),
    ...(options.pid === undefined || socket === undefined
      ? {}
      : { local: { socket, note, pid: options.pid } }),
  });
  const loaded = await loadWithPlugins({
    ...places,
    builtIn: [listener, second, pico, remote, board],
    taken: ["token-store", "settings", "channels", "echo", "program", "handler", "tray"],
    flags: { launcher: { ...flags } },
    redact: options.redact ?? ((text) => text),
  });
  for (const { from, problem } of loaded.found)
    if (problem !== undefined) log.error({ plugin: from }, problem);
  for (const warning of [...loaded.warnings, ...(await foreignSecrets(home))])
    log.warn({}, warning);
  const file = config ?? join(home, "config.json");
  for (const value of handlerSecrets(loaded.handler)) secret?.(value);
  const resolved = await resolveProgram(loaded.handler, {
    home,
    env,
    brand,
    file,
    given: options.program,
  });
  const { redact } = options;
  const answers = resolved ? program({ ...resolved, ...(redact ? { redact } : {}) }) : echo();
  const form = files({
    ...places,
    ...(secret ? { secret } : {}),
    ...(generated ? { generated } : {}),
  });
  const desk = options.tray && {
    env,
    version,
    hasLog: options.logSource !== undefined,
    ...options.tray,
  };
  const shown = desk ? [(await import("../../plugins/tray/index.ts")).tray(desk)] : [];
  const watch = options.program ? [] : [watchHandler(file, loaded.handler)];
  const first = [
    tokenStore(form),
    settings(loaded.sources),
    channels(),
    listener,
    second,
    pico,
    remote,
  ] as const;
  const kernel = createKernel([...first, answers as ReturnType<typeof echo>, board], {
    config: loaded.config,
    log,
    plugins: [...watch, ...shown, ...loaded.found.flatMap(({ plugin }) => plugin ?? [])],
    ...(clock ? { clock } : {}),
    ...(options.random ? { random: options.random } : {}),
  });
  return kernel;
}
export type Launcher = Awaited<ReturnType<typeof createLauncher>>;
