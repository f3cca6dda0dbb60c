import { codeOf, type Clock, type Release } from "../../kernel/index.ts";
import { channelsErrors } from "./errors.ts";
import type {
  Address,
  AnswerStream,
  Channels,
  Outgoing,
  Receipt,
  StreamOptions,
} from "./service.ts";

/** Between two updates: nine in any second leave room for the final one, which does not wait. */
export const updateEveryMs = 112;
/** The next update may go better, and the final one tells. */
const passing: readonly string[] = ["undeliverable", "rate_limited", "busy"];

export interface StreamsOptions extends Pick<Channels, "send" | "update"> {
  /** Whether the channel can change what it has sent. */
  readonly updates: (to: Address) => boolean;
  readonly clock: Clock;
  readonly after: (ms: number, run: () => void) => Release;
}

export interface Streams {
  open(to: Address, options?: StreamOptions): AnswerStream;
  /** Nobody hears the session any more. */
  left(to: Address): void;
  /** Aborts them all; resolves when what they had is shown as far as it could be. */
  stop(): Promise<void>;
}

const nothing: Receipt = { id: "", status: "undelivered", reason: "aborted" };

interface Live {
  readonly to: Address;
  readonly cancelWhenAlone: boolean;
  readonly stream: AnswerStream;
  readonly settled: () => Promise<unknown>;
}

export function createStreams(options: StreamsOptions): Streams {
  const live = new Set<Live>();
  return {
    open(to, { cancelWhenAlone = false, ...first } = {}) {
      const { stream, settled } = createStream(
        options,
        to,
        first,
        cancelWhenAlone,
        () => void live.delete(entry),
      );
      const entry: Live = { to, cancelWhenAlone, stream, settled };
      live.add(entry);
      return stream;
    },
    left({ channel, session }) {
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

function createStream(
  { send, update, updates, clock, after }: StreamsOptions,
  to: Address,
  first: Partial<Outgoing>,
  cancelWhenAlone: boolean,
  over: () => void,
): { stream: AnswerStream; settled: () => Promise<unknown> } {
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
  const grown = (content: string): Outgoing => ({ ...same, content });
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
      if (!passing.includes(code)) abort((failure = error));
      else if (cancelWhenAlone && code === "undeliverable") abort();
    }
  }

  /** One call at a time, not before its time, and only when there is something new. */
  function pace(): void {
    if (under || cancelTimer || ended || text === shown || !updates(to)) return;
    const wait = Math.min(updateEveryMs, shownAt + updateEveryMs - clock.now());
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
    return receipt ? update(to, receipt.id, { ...grown(content), final: true }) : nothing;
  }

  async function finish(last: Partial<Outgoing>): Promise<Receipt> {
    await under;
    if (failure !== undefined) throw failure;
    return receipt
      ? update(to, receipt.id, { ...last, ...grown(text), final: true })
      : send(to, { ...first, ...last, content: text });
  }

  function abort(reason?: unknown): void {
    if (!close()) return;
    finishing = leave().catch(() => receipt ?? nothing);
    controller.abort(reason);
  }

  const stream: AnswerStream = {
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
