import { codeOf, type Clock, type Release } from "../../kernel/index.ts";
import { channelsErrors } from "./errors.ts";
import type {
  Address,
  ReplyStream,
  Channels,
  OutboundMessage,
  Receipt,
  StreamOptions,
} from "./service.ts";

/** Between two updates: nine in any second leave room for the final one, which does not wait. */
export const updateIntervalMs = 112;
/** The next update may go better, and the final one tells. */
const transientCodes: readonly string[] = ["undeliverable", "rate_limited", "busy"];

export interface ReplyStreamOptions extends Pick<Channels, "send" | "update"> {
  /** Whether the channel can change what it has sent. */
  readonly updates: (to: Address) => boolean;
  readonly clock: Clock;
  readonly after: (ms: number, run: () => void) => Release;
}

export interface ReplyStreams {
  open(to: Address, options?: StreamOptions): ReplyStream;
  /** Nobody hears the session any more. */
  sessionIdle(to: Address): void;
  /** Aborts them all; resolves when what they had is shown as far as it could be. */
  stop(): Promise<void>;
}

const emptyReceipt: Receipt = { id: "", status: "undelivered", reason: "aborted" };

interface OpenStream {
  readonly to: Address;
  readonly cancelWhenAlone: boolean;
  readonly stream: ReplyStream;
  readonly settled: () => Promise<unknown>;
}

export function createReplyStreams(options: ReplyStreamOptions): ReplyStreams {
  const live = new Set<OpenStream>();
  return {
    open(to, { cancelWhenAlone = false, ...first } = {}) {
      const { stream, settled } = createReplyStream(
        options,
        to,
        first,
        cancelWhenAlone,
        () => void live.delete(entry),
      );
      const entry: OpenStream = { to, cancelWhenAlone, stream, settled };
      live.add(entry);
      return stream;
    },
    sessionIdle({ channel, session }) {
      for (const { to, cancelWhenAlone, stream } of [...live]) {
        if (cancelWhenAlone && to.channel === channel && to.session === session) stream.abort();
      }
    },
    async stop() {
      const all = [...live];
      for (const { stream } of all) stream.abort(channelsErrors.not_running());
      await Promise.all(all.map(({ settled }) => settled()));
    },
  };
}

function createReplyStream(
  { send, update, updates, clock, after }: ReplyStreamOptions,
  to: Address,
  first: Partial<OutboundMessage>,
  cancelWhenAlone: boolean,
  over: () => void,
): { stream: ReplyStream; settled: () => Promise<unknown> } {
  const controller = new AbortController();
  let text = "";
  let shown = "";
  let receipt: Receipt | undefined;
  let shownAt = -Infinity;
  let cancelTimer: Release | undefined;
  /** The call to the channel under way; never rejects. */
  let under: Promise<void> | undefined;
  let failure: unknown;
  let ended = false;
  let finishing: Promise<Receipt> | undefined;

  /** Every update says again what it is and what it answers: clients know a thought from an answer by it, and one
   *  answer from another. */
  const { kind, inReplyTo } = first;
  const same = {
    ...(kind !== undefined && { kind }),
    ...(inReplyTo !== undefined && { inReplyTo }),
  };
  const grown = (content: string): OutboundMessage => ({ ...same, content });
  const isAlone = ({ status }: Receipt): boolean =>
    status === "buffered" || status === "undelivered";

  async function show(): Promise<void> {
    const content = text;
    shownAt = clock.now();
    try {
      receipt = receipt
        ? await update(to, receipt.id, grown(content))
        : await send(to, { ...first, content, final: false });
      shown = content;
      if (cancelWhenAlone && isAlone(receipt)) abort();
    } catch (error) {
      const code = codeOf(error);
      if (!transientCodes.includes(code)) abort((failure = error));
      else if (cancelWhenAlone && code === "undeliverable") abort();
    }
  }

  /** One call at a time, not before its time, and only when there is something new. */
  function pace(): void {
    if (under || cancelTimer || ended || text === shown || !updates(to)) return;
    const wait = Math.min(updateIntervalMs, shownAt + updateIntervalMs - clock.now());
    if (wait > 0) {
      cancelTimer = after(wait, () => {
        cancelTimer = undefined;
        pace();
      });
      return;
    }
    let returned = (): void => undefined;
    under = new Promise((resolve) => void (returned = resolve)); // before the channel is asked: that may abort
    void show().finally(() => {
      under = undefined;
      returned();
      pace();
    });
  }

  function close(): boolean {
    if (ended) return false;
    ended = true;
    cancelTimer?.();
    cancelTimer = undefined;
    over();
    return true;
  }

  /** Clients wait for the end of what they have begun to show. */
  async function leave(): Promise<Receipt> {
    await under;
    const content = failure === undefined ? text : shown;
    return receipt ? update(to, receipt.id, { ...grown(content), final: true }) : emptyReceipt;
  }

  async function finish(last: Partial<OutboundMessage>): Promise<Receipt> {
    await under;
    if (failure !== undefined) throw failure;
    return receipt
      ? update(to, receipt.id, { ...last, ...grown(text), final: true })
      : send(to, { ...first, ...last, content: text });
  }

  function abort(reason?: unknown): void {
    if (!close()) return;
    finishing = leave().catch(() => receipt ?? emptyReceipt);
    controller.abort(reason);
  }

  const stream: ReplyStream = {
    signal: controller.signal,
    abort,
    write(more) {
      if (controller.signal.aborted) return;
      if (ended) throw channelsErrors.stream_ended();
      text += more;
      pace();
    },
    async end(last = {}) {
      if (close()) finishing = finish(last);
      const answer = await finishing!;
      if (failure !== undefined) throw failure;
      return answer;
    },
  };
  return { stream, settled: () => Promise.resolve(finishing).catch(() => undefined) };
}
