// Remembers which tool calls of an answer one reader has received, and which of them have a result.
import type { ToolCall } from "../channels/index.ts";

/** The parts of a call that are new. */
interface CallNews {
  readonly isCall: boolean;
  readonly isResult: boolean;
}

const hasResult = ({ result, error }: ToolCall): boolean =>
  result !== undefined || error !== undefined;

export class CallLog {
  /** Message and call -> whether the result is known. */
  private readonly known = new Map<string, boolean>();
  /** Call -> the key of its latest message. A later message may only add the result. */
  private readonly latest = new Map<string, string>();

  add(messageId: string, call: ToolCall): CallNews {
    const own = `${messageId}\0${call.id}`;
    const isDone = hasResult(call);
    const before = this.latest.get(call.id);
    const isAddition = isDone && before !== undefined && this.known.get(before) === false;
    const key = this.known.has(own) || !isAddition ? own : before;
    const was = this.known.get(key);
    this.known.set(key, isDone || was === true);
    this.known.set(own, isDone || was === true);
    this.latest.set(call.id, own);
    return { isCall: was === undefined, isResult: isDone && was !== true };
  }
}
