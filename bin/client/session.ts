import { createClientOnly } from "../../config/presets/client-only.ts";
import type { Log } from "../../kernel/index.ts";
import type { Application } from "../../plugins/channels/index.ts";
import type { PicoLink } from "../../plugins/pico-client/index.ts";
import type { LinkChange, LinkHandlers } from "../../lib/pico-link/index.ts";
import type { CommandContext } from "../commands/command.ts";
import { createRedactor } from "../log/redact.ts";
import { exitStatusOf, interrupted, type ExitStatus } from "./fate.ts";
import type { ClientArguments } from "./options.ts";
import { findOwnChannel } from "./own.ts";
import { sanitizeLine } from "./text.ts";

export interface SessionOptions extends ClientArguments {
  readonly profile?: string;
  /** Gets the whole answers. */
  readonly answer: Application;
  readonly hear?: LinkHandlers;
  /** What a person should know, on one line, fit for a terminal. */
  readonly notice: (text: string) => void;
}

export interface ClientSession {
  readonly link: PicoLink;
  /** The other end refuses, ended it, or cannot be reached; or a signal came. */
  readonly ended: Promise<ExitStatus>;
  close(): Promise<void>;
}

/** Connects in the background. Rejects when what is configured cannot do. */
export async function openClientSession(
  call: CommandContext,
  options: SessionOptions,
): Promise<ClientSession> {
  const { answer, hear = {}, notice, url, tokenFile, sessionId, profile, silenceMs } = options;
  const redactor = createRedactor();
  let end: (fate: ExitStatus) => void;
  const ended = new Promise<ExitStatus>((resolve) => {
    end = resolve;
  });
  let wasOpen = false;
  let isClosing = false;

  function onState(change: LinkChange): void {
    if (isClosing) return;
    wasOpen ||= change.to === "open";
    hear.onState?.(change);
    const fate = exitStatusOf(change, wasOpen);
    if (fate) end(fate);
  }
  const kernel = await createClientOnly({
    home: call.home,
    env: call.env,
    application: answer,
    unnamed: () => findOwnChannel(call),
    log: logFor(call, (text) => notice(sanitizeLine(redactor.redact(text)))),
    hear: { ...hear, onState },
    secret: (value) => redactor.add(value),
    silenceMs,
    ...(url && { url }),
    ...(tokenFile && { tokenFile }),
    ...(sessionId && { sessionId }),
    ...(profile && { profile }),
  });
  await kernel.start();
  // Not before: a signal ends a start that waits, as that for a token from a pipe does.
  const interrupt = (): void => end(interrupted);
  process.on("SIGINT", interrupt);
  process.on("SIGTERM", interrupt);
  return {
    link: kernel.services.picoLink,
    ended,
    async close() {
      isClosing = true;
      await kernel.stop({ timeoutMs: 2_000 });
      process.off("SIGINT", interrupt);
      process.off("SIGTERM", interrupt);
    },
  };
}

/** Warnings are shown; with -debug everything is. Changes of the link have a voice of their own. */
function logFor(call: CommandContext, show: (text: string) => void): Log {
  const isDebug = call.values["debug"] === true;
  const line =
    (level: string, isShown: boolean): Log["warn"] =>
    (fields, text) => {
      const isChange = "to" in fields && "from" in fields;
      if (isDebug) show(`${level}: ${text} ${JSON.stringify(fields, serializeErrors)}`);
      else if (isShown && !isChange) show(text);
    };
  return {
    debug: line("debug", false),
    info: line("info", false),
    warn: line("warn", true),
    error: line("error", true),
  };
}

const serializeErrors = (_: string, value: unknown): unknown =>
  value instanceof Error ? value.message : value;
