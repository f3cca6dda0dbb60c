// Opens the client link of a command, and reads the options that `client` and `send` share.
import { createClientOnly } from "../../config/presets/client-only.ts";
import { codeOf, type Log } from "../../kernel/index.ts";
import { defined } from "../../lib/util.ts";
import type { ChatStateChange, ChatHandlers } from "../../lib/pico-link/index.ts";
import type { Application } from "../../plugins/channels/index.ts";
import type { PicoLink } from "../../plugins/pico-client/index.ts";
import { UsageError, type CommandContext } from "../commands/command.ts";
import { askLauncher } from "../commands/control-client.ts";
import { createRedactor } from "../log/redact.ts";
import { exitStatusOf, interrupted, type ExitStatus } from "./exit-status.ts";
import { sanitizeLine } from "./text.ts";

/** Finds the pico channel of the launcher that runs for this home; undefined if no launcher
 *  runs, or its channel is off. The owner need not name it. */
async function findOwnChannel(
  context: CommandContext,
  found: () => void = () => undefined,
): Promise<{ url: string; token: string } | undefined> {
  const status = await askLauncher<{ channelUrl?: string }>(context, "GET", "status");
  const url = status?.status === 200 ? status.body.channelUrl : undefined;
  if (url === undefined) return undefined;
  const shown = await askLauncher<{ token: string }>(context, "POST", "token/show", {
    name: "pico",
    use: true,
  });
  if (shown?.status !== 200) return undefined;
  found();
  return { url, token: shown.body.token };
}

export interface SessionOptions extends ClientArguments {
  readonly profile?: string;
  /** Receives complete replies. */
  readonly onReply: Application;
  readonly handlers?: ChatHandlers;
  /** Receives warnings and notices of one line, safe for a terminal. */
  readonly notice: (text: string) => void;
}

export interface ClientSession {
  readonly link: PicoLink;
  /** Resolves when the server rejects or closes the connection or cannot be reached, or at a
   *  signal. */
  readonly ended: Promise<ExitStatus>;
  close(): Promise<void>;
}

interface KernelOptions extends SessionOptions {
  /** Called if the address is that of the launcher of this home. */
  readonly foundOwn?: () => void;
}

/** Starts a kernel with one link. Rejects if the configuration is invalid. */
export async function openClientKernel(context: CommandContext, options: KernelOptions) {
  const redactor = createRedactor();
  const { onReply, notice, foundOwn } = options;
  const kernel = await createClientOnly({
    ...options,
    home: context.home,
    env: context.env,
    application: onReply,
    findChannel: () => findOwnChannel(context, foundOwn),
    log: logFor(context, (text) => notice(sanitizeLine(redactor.redact(text)))),
    secret: (value) => redactor.add(value),
  });
  await kernel.start();
  return kernel;
}

/** Connects in the background. Rejects if the configuration is invalid. */
export async function openClientSession(
  context: CommandContext,
  options: SessionOptions,
): Promise<ClientSession> {
  const { handlers = {} } = options;
  let end: (exitStatus: ExitStatus) => void;
  const ended = new Promise<ExitStatus>((resolve) => {
    end = resolve;
  });
  let wasOpen = false;
  let isClosing = false;

  function onState(change: ChatStateChange): void {
    if (isClosing) return;
    wasOpen ||= change.to === "open";
    handlers.onState?.(change);
    const exitStatus = exitStatusOf(change, wasOpen);
    if (exitStatus) end(exitStatus);
  }
  const kernel = await openClientKernel(context, {
    ...options,
    handlers: { ...handlers, onState },
  });
  // Not earlier: a signal must end a waiting start, for example for a token from a pipe.
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

/** Shows warnings; with -debug, everything. The client itself reports changes of the link. */
function logFor(context: CommandContext, show: (text: string) => void): Log {
  const isDebug = context.values["debug"] === true;
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

export interface ClientArguments {
  readonly url?: string;
  readonly tokenFile?: string;
  readonly sessionId?: string;
  /** Longest wait for the next sign of a reply; 0: no limit. */
  readonly timeoutMs: number;
  /** Silence after which a reply counts as complete, if the server does not mark its end. */
  readonly silenceMs: number;
}

const textOption = ({ values }: CommandContext, name: string): string | undefined => {
  const value = values[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

/** @throws UsageError if an option is invalid. */
export function clientArguments(context: CommandContext): ClientArguments {
  const url = textOption(context, "url");
  const tokenFile = textOption(context, "token-file");
  const sessionId = textOption(context, "session");
  const timeout = textOption(context, "timeout") ?? "60";
  const silence = textOption(context, "silence") ?? "30";
  if (url !== undefined) checkUrl(url);
  if (
    sessionId !== undefined &&
    (/\p{Cc}/u.test(sessionId) || Buffer.byteLength(sessionId) > 256)
  ) {
    throw new UsageError('"-session" takes a name of at most 256 bytes without control characters');
  }
  if (!/^\d{1,5}$/.test(timeout))
    throw new UsageError('"-timeout" takes whole seconds; 0 means no limit');
  if (!/^\d{1,4}$/.test(silence) || Number(silence) < 1 || Number(silence) > 3_600)
    throw new UsageError('"-silence" takes whole seconds from 1 to 3600');
  return {
    timeoutMs: Number(timeout) * 1_000,
    silenceMs: Number(silence) * 1_000,
    ...defined({ url, tokenFile, sessionId }),
  };
}

function checkUrl(text: string): void {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^(?:ws|http)s?:$/.test(url.protocol)) {
    throw new UsageError(
      '"-url" takes the address of a channel: ws://host:port/pico or wss://host/pico',
    );
  }
  if (url.username !== "" || url.password !== "" || url.searchParams.has("token")) {
    const instead = "use -token-file, or SERVICE_CHANNELS_PICO_CLIENT_TOKEN";
    throw new UsageError(`other users of this machine can read arguments; ${instead}`);
  }
}

/** Reads code and sentence of an error. A code from the server is in its details. */
export function errorReason(error: unknown): { code: string; message: string } {
  const { name, code, message, details } = error as Error & {
    code?: unknown;
    details?: { code?: unknown };
  };
  const given = name === "ChatError" ? code : details?.code;
  return { code: typeof given === "string" ? given : codeOf(error), message };
}
