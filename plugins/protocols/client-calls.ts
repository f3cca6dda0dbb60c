// Names the tool calls that leave, and matches the results that clients send with them.
import { hash } from "node:crypto";
import { isObject } from "../../lib/util.ts";
import type { Clock } from "../../kernel/index.ts";
import type { Channels, PreviousTurn, ToolCall, ToolResult } from "../channels/index.ts";
import { refuse, type Refusal } from "./errors.ts";
import { RecentMap } from "./recent-map.ts";

/** Calls that are remembered, and for how long. Older ones are found in the conversation. */
const maxIssued = 8_192;
const keepMs = 24 * 3_600_000;
/** Turns of the conversation that may contain a call. */
const maxTurns = 100;
const digestLength = 24;
const leftPattern = /^call_(?:([\w-]+)_)?([0-9a-f]{24})$/;

/** A call as it left. */
interface IssuedCall {
  readonly session: string;
  /** The id that the application gave the call. */
  readonly id: string;
  readonly name: string;
  /** True once the client was asked to run it. */
  readonly isForClient: boolean;
}
type StoredCall = Omit<IssuedCall, "session">;

interface ClientCallsOptions {
  readonly channels: Pick<Channels, "history">;
  readonly clock: Clock;
}

/** One call of an answer. */
interface CallPlace {
  readonly session: string;
  /** Id of the message that contains the call. */
  readonly messageId: string;
  /** Leads to the session, for clients that name none. */
  readonly place: string | undefined;
}

/**
 * Returns the random part of the id of a call. It is made of the id of its message, which is random
 * and stored, so every process and every node makes the same one.
 */
const digestOf = (messageId: string, id: string): string =>
  hash("sha256", `${messageId}\0${id}`, "hex").slice(0, digestLength);

/** Returns the place that the id of a call contains. */
export const placeOfCall = (id: string): string | undefined => leftPattern.exec(id)?.[1];

export class ClientCalls {
  private readonly options: ClientCallsOptions;
  /** By the id that the client knows. */
  private readonly issued: RecentMap<IssuedCall>;

  constructor(options: ClientCallsOptions) {
    this.options = options;
    this.issued = new RecentMap({ max: maxIssued, keepMs, clock: options.clock });
  }

  /** Returns the id under which a call of the application leaves. Programs only number theirs. */
  name({ session, messageId, place }: CallPlace, { id, name }: ToolCall): string {
    const digest = digestOf(messageId, id);
    const given = `call_${place === undefined ? "" : `${place}_`}${digest}`;
    const isForClient = this.issued.get(given)?.isForClient === true;
    this.issued.set(given, { session, id, name, isForClient });
    return given;
  }

  /** Forgets the calls of a session whose conversation is deleted. */
  clear(session: string): void {
    this.issued.remove((call) => call.session === session);
  }

  /** Names a call that the client must run. */
  issue(at: CallPlace, call: ToolCall): ToolCall {
    const id = this.name(at, call);
    this.issued.set(id, { session: at.session, id: call.id, name: call.name, isForClient: true });
    return { ...call, id };
  }

  /**
   * Returns the results with the ids and names that the application gave the calls.
   *
   * @throws Refusal if no answer of the session has asked for one of them.
   */
  async resolve(session: string, results: readonly ToolResult[]): Promise<readonly ToolResult[]> {
    const find = await this.finder(
      session,
      results.map(({ id }) => id),
    );
    return results.map((result) => {
      const call = find(result.id);
      if (!call?.isForClient) throw unknownCall(result.id);
      return { ...result, id: call.id, name: call.name };
    });
  }

  /** Gives the calls of earlier turns the ids of the application again. */
  async restore(session: string, turns: readonly PreviousTurn[]): Promise<readonly PreviousTurn[]> {
    const ids = turns.flatMap(({ toolCalls = [], toolCallId = [] }) => [
      ...toolCalls.map(({ id }) => id),
      ...[toolCallId].flat(),
    ]);
    const find = await this.finder(session, ids);
    const toId = (id: string): string => find(id)?.id ?? id;
    return turns.map((turn) => {
      const { toolCalls, toolCallId } = turn;
      return {
        ...turn,
        ...(toolCalls && { toolCalls: toolCalls.map((call) => ({ ...call, id: toId(call.id) })) }),
        ...(toolCallId !== undefined && { toolCallId: toId(toolCallId) }),
      };
    });
  }

  /** Finds calls of a session. Those of an earlier process, or another node, are in the store. */
  private async finder(
    session: string,
    ids: readonly string[],
  ): Promise<(id: string) => StoredCall | undefined> {
    const recent = (id: string): StoredCall | undefined => {
      const call = this.issued.get(id);
      return call?.session === session ? call : undefined;
    };
    const isStored = (id: string): boolean => leftPattern.test(id) && !this.issued.get(id);
    const stored = ids.some(isStored) ? await this.readStored(session) : undefined;
    return (id) => recent(id) ?? stored?.get(leftPattern.exec(id)?.[2] ?? "");
  }

  /** Reads the calls of the conversation, for results that arrive after a restart. */
  private async readStored(session: string): Promise<ReadonlyMap<string, StoredCall>> {
    const address = { channel: "pico", session };
    const { items } = await this.options.channels.history(address, { limit: maxTurns });
    return new Map(
      items.flatMap(({ id, toolCalls = [] }) =>
        toolCalls.flatMap(toStored).map((call) => [digestOf(id, call.id), call] as const),
      ),
    );
  }
}

function toStored(call: unknown): StoredCall[] {
  if (!isObject(call) || !isObject(call["function"])) return [];
  const { id } = call;
  const { name } = call["function"];
  const isForClient = call["for"] === "client";
  return typeof id === "string" && typeof name === "string" ? [{ id, name, isForClient }] : [];
}

const unknownCall = (id: string): Refusal =>
  refuse(
    "unknown_tool_call",
    `No reply of this session has asked for the tool call ${JSON.stringify(id.slice(0, 60))}. ` +
      "Send the results to the session that received the call.",
  );
