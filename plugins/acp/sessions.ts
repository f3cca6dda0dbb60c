// Gives each conversation a session of the agent: a new one, or the earlier one after a restart.
import {
  newSessionResult,
  RpcError,
  rpcCodes,
  sessionResult,
  type AvailableCommand,
  type RpcConnection,
  type SessionResult,
  type SessionUpdate,
} from "../../lib/acp-wire/index.ts";
import type { Log } from "../../kernel/index.ts";
import { BoundedMap, keyOf } from "../../lib/util.ts";
import type { Address } from "../channels/index.ts";
import type { Agent, ReadyAgent } from "./agent.ts";
import { acpErrors } from "./errors.ts";
import type { SessionIds } from "./ids.ts";
import { modesIn, modesInOptions, wantedMode, type SessionModes } from "./modes.ts";
import { problems, refusal, wordsOf } from "./problems.ts";
import type { AgentCommand } from "./service.ts";
import { oneLine } from "./steps.ts";

/** Ids of earlier turns that a late update may name. */
export const maxRemembered = 512;
const maxSessions = 4_096;
const maxCommands = 200;
/** While a person is asked elsewhere, a session that takes longer is said to be blocked. */
export const blockedMs = 10_000;

/** A session of the running agent. */
export interface AgentSession {
  readonly id: string;
  readonly connection: RpcConnection;
  modes: SessionModes | undefined;
  /** True while the agent repeats the history, which Doorward has. */
  isLoading: boolean;
  /** A prompt that was stopped, and that the agent has not answered. */
  isBusy: boolean;
  /** Steps that it asked about, and those that change something and ran without a question. */
  asked: number;
  unasked: number;
  /** Ids of messages and calls of earlier turns. */
  readonly earlier: BoundedMap<string, true>;
}

/** An opened session. `isNew`: the agent knows nothing of it; `hasForgotten`: it once did. */
export interface OpenedSession {
  readonly session: AgentSession;
  readonly isNew: boolean;
  readonly hasForgotten: boolean;
}

interface SessionsOptions {
  readonly agent: Agent;
  readonly name: string;
  readonly cwd: string;
  /** The mode of the settings. */
  readonly mode: string | undefined;
  readonly ids: SessionIds;
  readonly log: Log;
  /** The status of the agent has changed. */
  readonly changed: () => void;
}

export class AgentSessions {
  /** Commands of the agent. */
  commands: readonly AgentCommand[] = [];
  /** Modes of the session that was used last. */
  modes: SessionModes | undefined;
  private readonly options: SessionsOptions;
  private readonly open = new BoundedMap<string, Promise<OpenedSession>>(maxSessions);
  private readonly byId = new BoundedMap<string, AgentSession>(maxSessions);

  constructor(options: SessionsOptions) {
    this.options = options;
  }

  /** Opens the session of a conversation, once. */
  async find(address: Address): Promise<OpenedSession> {
    const key = keyOf(address.channel, address.session);
    const ready = await this.options.agent.ready();
    const known = this.open.get(key);
    if (known) {
      const { session } = await known;
      if (session.connection === ready.connection) {
        // The ones that are used stay known.
        this.open.renew(key, known);
        this.byId.renew(session.id, session);
        return { session, isNew: false, hasForgotten: false };
      }
    }
    const opening = this.begin(address, ready);
    this.open.set(key, opening);
    opening.catch(() => this.open.delete(key));
    const opened = await opening;
    this.modes = opened.session.modes;
    this.options.changed();
    return opened;
  }

  session(id: string): AgentSession | undefined {
    return this.byId.get(id);
  }

  /**
   * Takes the description of a session, in a turn or between turns.
   *
   * @returns True if the status of the agent has changed.
   */
  update(session: AgentSession | undefined, { kind, value }: SessionUpdate): boolean {
    if (kind === "available_commands_update") this.commands = toCommands(value.availableCommands);
    else if (kind === "current_mode_update" && session?.modes)
      this.setModes(session, { ...session.modes, current: value.currentModeId });
    else if (kind === "config_option_update" && session)
      this.setModes(session, modesInOptions(value.configOptions) ?? session.modes);
    else return false;
    return true;
  }

  async forget(address: Address): Promise<void> {
    this.open.delete(keyOf(address.channel, address.session));
    await this.options.ids.remove(address);
  }

  /** The agent has ended: its sessions are opened again. */
  clear(): void {
    this.open.clear();
    this.byId.clear();
  }

  private setModes(session: AgentSession, modes: SessionModes | undefined): void {
    session.modes = modes;
    this.modes = modes;
  }

  private async begin(address: Address, ready: ReadyAgent): Promise<OpenedSession> {
    const { agent, ids } = this.options;
    const known = await ids.get(address);
    const continued = known === undefined ? undefined : await this.continue(known, ready);
    const session = continued ?? (await this.create(ready));
    await this.chooseMode(session);
    if (!continued) await this.remember(address, session.id);
    if (agent.problem()?.code !== "agent_mode") agent.report(undefined);
    return { session, isNew: !continued, hasForgotten: known !== undefined && !continued };
  }

  /** Without it, the agent forgets the conversation at the next restart only. */
  private async remember(address: Address, id: string): Promise<void> {
    const { ids, log } = this.options;
    await ids.set(address, id).catch((error: Error) => {
      log.warn({ reason: error.message }, "the session of the agent could not be stored");
    });
  }

  private add(id: string, { connection }: ReadyAgent, result?: SessionResult): AgentSession {
    const session: AgentSession = {
      id,
      connection,
      modes: result && modesIn(result),
      isLoading: false,
      isBusy: false,
      asked: 0,
      unasked: 0,
      earlier: new BoundedMap(maxRemembered),
    };
    this.byId.set(id, session);
    return session;
  }

  private async create(ready: ReadyAgent): Promise<AgentSession> {
    const { connection } = ready;
    try {
      const answer = await connection.request("session/new", this.params());
      const result = newSessionResult.parse(answer);
      return this.add(result.sessionId, ready, result);
    } catch (error) {
      throw this.toError(error);
    }
  }

  /** @returns Undefined if the agent cannot continue the session. */
  private async continue(id: string, ready: ReadyAgent): Promise<AgentSession | undefined> {
    const { loadSession, sessionCapabilities } = ready.info.agentCapabilities;
    if (!sessionCapabilities.resume && !loadSession) return undefined;
    const method = sessionCapabilities.resume ? "session/resume" : "session/load";
    const session = this.add(id, ready);
    session.isLoading = true;
    const settled = (): void => void (session.isLoading = false);
    try {
      const params = { sessionId: id, ...this.params() };
      const answer = await ready.connection.request(method, params, { settled });
      session.modes = modesIn(sessionResult.parse(answer));
      return session;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { code } = error;
      if (code === rpcCodes.authRequired) throw this.needsSignIn();
      const reason = wordsOf(error);
      this.options.log.warn({ code, reason }, "the agent cannot continue a session");
      return undefined;
    }
  }

  private params() {
    return { cwd: this.options.cwd, mcpServers: [] };
  }

  /** Chooses the mode in which the agent asks, or the one of the settings. */
  private async chooseMode(session: AgentSession): Promise<void> {
    const { mode: configured, agent, name, log } = this.options;
    const { modes, connection, id: sessionId } = session;
    const offered = modes?.all.map(({ id }) => id) ?? [];
    const isOffered = configured !== undefined && offered.includes(configured);
    if (configured !== undefined && !isOffered)
      agent.report(problems.mode(name, configured, offered));
    // Without the mode of the settings, the one that asks: the agent may have begun in another.
    const wanted = modes && wantedMode(modes, isOffered ? configured : undefined);
    if (!modes || wanted === undefined) return;
    try {
      if (modes.option === undefined)
        await connection.request("session/set_mode", { sessionId, modeId: wanted });
      else {
        const params = { sessionId, configId: modes.option, value: wanted };
        await connection.request("session/set_config_option", params);
      }
      session.modes = { ...modes, current: wanted };
    } catch (error) {
      // In the other mode it may run everything without asking.
      const { message } = error as Error;
      log.warn({ mode: wanted, reason: message }, "the agent did not take the mode");
      throw acpErrors.agent_refused(`${name} did not take the mode "${wanted}": ${message}`);
    }
  }

  /** @returns The error for the sender, which is shown on the overview too. */
  private toError(error: unknown): Error {
    if (!(error instanceof RpcError)) return error as Error;
    if (error.code === rpcCodes.authRequired) return this.needsSignIn();
    const problem = refusal(this.options.name, wordsOf(error));
    this.options.agent.report(problem);
    return acpErrors.agent_refused(`${problem.sentence} ${problem.fix}`);
  }

  /** The agent does not know who uses it. Doorward never drives a sign-in. */
  needsSignIn(): Error {
    const { agent, name } = this.options;
    const ways = (agent.info()?.authMethods ?? []).map(
      ({ name: way, description }) => description ?? way,
    );
    const problem = problems.needsSignIn(name, ways);
    agent.report(problem);
    return acpErrors.agent_needs_sign_in(`${problem.sentence} ${problem.fix}`);
  }
}

const toCommands = (commands: readonly AvailableCommand[]): readonly AgentCommand[] =>
  commands.slice(0, maxCommands).map(({ name, description, input }) => ({
    name,
    ...(description.trim() !== "" && { description: oneLine(description, 500) }),
    ...(input && input.hint.trim() !== "" && { hint: oneLine(input.hint, 80) }),
  }));
