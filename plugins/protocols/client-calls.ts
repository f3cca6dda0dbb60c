// Remembers the tool calls that clients must run, and matches the results that they send.
import { isObject } from "../../lib/util.ts";
import type { Clock } from "../../kernel/index.ts";
import type { Channels, PreviousTurn, ToolCall, ToolResult } from "../channels/index.ts";
import { refuse, type Refusal } from "./errors.ts";
import { RecentMap } from "./recent-map.ts";

/** Calls that are remembered, and for how long. Older ones are found in the conversation. */
const maxIssued = 4_096;
const keepMs = 24 * 3_600_000;
/** Turns of the conversation that may contain a call. */
const maxTurns = 100;
const maxIdLength = 64;
const renamedPattern = /~[0-9a-f]{8}$/;

/** A call that a client has received. */
interface IssuedCall {
  readonly session: string;
  /** The id that the application gave the call. */
  readonly id: string;
  readonly name: string;
}
type ToolNames = Pick<IssuedCall, "id" | "name">;

interface ClientCallsOptions {
  readonly channels: Pick<Channels, "history">;
  readonly clock: Clock;
  readonly newId: () => string;
}

export class ClientCalls {
  private readonly options: ClientCallsOptions;
  /** By the id that the client knows. */
  private readonly issued: RecentMap<IssuedCall>;

  constructor(options: ClientCallsOptions) {
    this.options = options;
    this.issued = new RecentMap({ max: maxIssued, keepMs, clock: options.clock });
  }

  /** Records calls. An id that another call has used, or that is too long, is replaced. */
  issue(session: string, calls: readonly ToolCall[]): readonly ToolCall[] {
    return calls.map((call) => {
      const id = this.toClientId(call.id);
      this.issued.set(id, { session, id: call.id, name: call.name });
      return { ...call, id };
    });
  }

  /** Returns the session whose answers asked for all these calls. */
  sessionOf(results: readonly ToolResult[]): string | undefined {
    const sessions = new Set(results.map(({ id }) => this.issued.get(id)?.session));
    const [session] = sessions;
    return sessions.size === 1 ? session : undefined;
  }

  /**
   * Returns the results with the ids and names that the application gave the calls.
   *
   * @throws Refusal if no answer of the session has asked for one of them.
   */
  async resolve(session: string, results: readonly ToolResult[]): Promise<readonly ToolResult[]> {
    const found = new Map<string, ToolNames>();
    for (const { id } of results) {
      const call = this.issued.get(id);
      if (call?.session === session) found.set(id, call);
    }
    const isKnown = ({ id }: ToolResult): boolean => found.has(id);
    const stored = results.every(isKnown) ? undefined : await this.readStored(session);
    return results.map((result) => {
      const call = found.get(result.id) ?? stored?.get(result.id.replace(renamedPattern, ""));
      if (!call) throw unknownCall(result.id);
      return { ...result, id: call.id, name: call.name };
    });
  }

  /** Gives the calls of earlier turns the ids of the application again. */
  restore(session: string, turns: readonly PreviousTurn[]): readonly PreviousTurn[] {
    const toId = (id: string): string => {
      const call = this.issued.get(id);
      return call?.session === session ? call.id : id;
    };
    return turns.map((turn) => {
      const { toolCalls, toolCallId } = turn;
      return {
        ...turn,
        ...(toolCalls && { toolCalls: toolCalls.map((call) => ({ ...call, id: toId(call.id) })) }),
        ...(toolCallId !== undefined && { toolCallId: toId(toolCallId) }),
      };
    });
  }

  /** Reads the calls of the conversation, for results that arrive after a restart. */
  private async readStored(session: string): Promise<ReadonlyMap<string, ToolNames>> {
    const address = { channel: "pico", session };
    const { items } = await this.options.channels.history(address, { limit: maxTurns });
    const calls = items.flatMap(({ toolCalls = [] }) => toolCalls.flatMap(toNames));
    return new Map(calls.map((call) => [call.id, call]));
  }

  private toClientId(id: string): string {
    if (id === "" || id.length > maxIdLength) return `call_${this.options.newId()}`;
    return this.issued.get(id) ? `${id}~${this.options.newId().slice(0, 8)}` : id;
  }
}

/** Reads a stored call, if it is one for the client. */
function toNames(call: unknown): ToolNames[] {
  if (!isObject(call) || call["for"] !== "client" || !isObject(call["function"])) return [];
  const { id } = call;
  const { name } = call["function"];
  return typeof id === "string" && typeof name === "string" ? [{ id, name }] : [];
}

const unknownCall = (id: string): Refusal =>
  refuse(
    "unknown_tool_call",
    `No reply of this session has asked for the tool call ${JSON.stringify(id.slice(0, 60))}. ` +
      "Send the results to the session that received the call.",
  );
