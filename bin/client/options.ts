import { codeOf } from "../../kernel/index.ts";
import type { CommandContext } from "../commands/command.ts";
import { UsageError } from "../usage.ts";

export interface ClientArguments {
  readonly url?: string;
  readonly tokenFile?: string;
  readonly sessionId?: string;
  /** How long to wait for the next sign of a reply; 0: without limit. */
  readonly timeoutMs: number;
  /** Silence after which a reply counts as complete, if the server does not mark the end. */
  readonly silenceMs: number;
}

const textOption = ({ values }: CommandContext, name: string): string | undefined => {
  const value = values[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};

/** Throws `UsageError`. */
export function clientArguments(call: CommandContext): ClientArguments {
  const url = textOption(call, "url");
  const tokenFile = textOption(call, "token-file");
  const sessionId = textOption(call, "session");
  const timeout = textOption(call, "timeout") ?? "60";
  const silence = textOption(call, "silence") ?? "30";
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
    ...(url && { url }),
    ...(tokenFile && { tokenFile }),
    ...(sessionId && { sessionId }),
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
    throw new UsageError(`everyone on this machine can read arguments: ${instead}`);
  }
}

/** The code and the sentence of an error; what the other end said stands in its details. */
export function errorReason(error: unknown): { code: string; message: string } {
  const { message, details } = error as Error & { details?: { code?: unknown } };
  return { code: typeof details?.code === "string" ? details.code : codeOf(error), message };
}
