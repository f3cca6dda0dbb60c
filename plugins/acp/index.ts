// Runs an agent that speaks the Agent Client Protocol as the application. One process serves all
// conversations, each with a session of its own: `agent` runs it, `sessions` opens the sessions,
// `turn` shows what the agent reports, and `asks` asks people what it wants to know.
import type { Plugin, Scope } from "../../kernel/index.ts";
import {
  elicitationComplete,
  elicitationRequest,
  permissionRequest,
  promptResult,
  readParams,
  readSessionUpdate,
  RpcError,
  rpcCodes,
} from "../../lib/acp-wire/index.ts";
import { createRunningTimer } from "../../lib/running-time.ts";
import type { Message } from "../channels/index.ts";
import type { ProgramStatus } from "../program/index.ts";
import { Agent } from "./agent.ts";
import { askForm, askPermission, type AskContext } from "./asks.ts";
import { acpErrors } from "./errors.ts";
import { Backlog } from "./flow.ts";
import { createSessionIds } from "./ids.ts";
import { toPrompt } from "./prompt.ts";
import type { AcpShape, AgentStatus } from "./service.ts";
import { AgentSessions, blockedMs, type OpenedSession } from "./sessions.ts";
import { toApplicationStatus } from "./status.ts";
import { wordsOf } from "./problems.ts";
import { Turn } from "./turn.ts";

export type { Program } from "../program/index.ts";
export { acpHandlerSchema, type AcpHandlerConfig } from "./config.ts";
export type {
  AcpEvents,
  AcpShape,
  Agent,
  AgentCommand,
  AgentMode,
  AgentProblem,
  AgentStatus,
} from "./service.ts";

/** Options of `acp`. */
export interface AcpOptions {
  /** The agent and its arguments, passed to the operating system without a shell. */
  readonly command: readonly [string, ...string[]];
  /** The folder that the agent works in: an absolute path. */
  readonly cwd: string;
  /** The environment of the agent. `programEnvironment` of `doorward/plugins/program` makes one
   *  without secrets of Doorward. */
  readonly env: Readonly<Record<string, string>>;
  /** Id of the mode that each session begins in. @defaultValue the one in which the agent asks, if
   *  it has one: `default`, `ask` or `manual` */
  readonly mode?: string;
  /** Exits after which the agent is restarted. @defaultValue `"always"` */
  readonly restart?: "always" | "on-failure" | "never";
  /** Seconds after a stop in which the agent must end its turn. Then it is restarted before the
   *  next message of the conversation. @defaultValue 10 */
  readonly stopGraceS?: number;
  /** Seconds after which each question of the agent expires, as a no; 0 = never.
   *  @defaultValue 0 */
  readonly questionMaxS?: number;
  /** Messages that chat pages offer to begin with: at most four. @defaultValue those of the page */
  readonly suggestions?: readonly string[];
  /** Version of the host, for the agent. @defaultValue `"0"` */
  readonly version?: string;
  /** Removes secrets from the command and the stderr lines that pages show.
   *  @defaultValue no change */
  readonly redact?: (text: string) => string;
}

/** Minimum time between two events about the agent. */
const eventIntervalMs = 1_000;

/**
 * Creates the plugin that runs an agent of the Agent Client Protocol as the application. The agent
 * starts when the kernel is ready. It ends together with all its child processes when the kernel
 * stops. Its permission requests are questions for people: Doorward allows nothing itself.
 *
 * @example
 * import { createKernel } from "doorward";
 * import { acp } from "doorward/plugins/acp";
 * import { channels } from "doorward/plugins/channels";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { programEnvironment } from "doorward/plugins/program";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const env = programEnvironment(process.env, "SERVICE");
 * const kernel = createKernel([
 *   tokenStore(memory({ pico: token })),
 *   channels(),
 *   http(),
 *   picoServer(),
 *   acp({ command: ["opencode", "acp"], cwd: process.cwd(), env }),
 * ]);
 */
export function acp(options: AcpOptions): Plugin<AcpShape> {
  return {
    name: "acp",
    api: 1,
    needs: { channels: true },
    uses: { media: true, records: true },

    start(scope) {
      const application = new AcpApplication(scope, options);
      application.register();
      return {
        application: "acp",
        program: {
          status: () => application.programStatus(),
          restart: () => application.agent.supervisor.restart(),
        },
        agent: { status: () => application.status() },
      };
    },
  };
}

/** Connects the channels, the agent and the turns. */
class AcpApplication {
  readonly agent: Agent;
  private readonly scope: Scope<AcpShape>;
  private readonly options: AcpOptions;
  private readonly name: string;
  private readonly sessions: AgentSessions;
  private readonly backlog: Backlog;
  /** The running turns, by session of the agent. */
  private readonly turns = new Map<string, Turn>();
  /** Open links, by the id that the agent gave them. */
  private readonly links = new Map<string, AbortController>();
  private readonly settled = { answered: 0, failed: 0, stopped: 0 };
  private readonly asked = { asked: 0, unasked: 0 };
  private openQuestions = 0;
  private stopTimeouts = 0;
  private isEventScheduled = false;

  constructor(scope: Scope<AcpShape>, options: AcpOptions) {
    const { command, cwd, env, mode, restart = "always", version = "0" } = options;
    const { redact = (text: string) => text } = options;
    this.scope = scope;
    this.options = options;
    this.name = redact(command.join(" "));
    this.agent = new Agent({
      scope,
      command,
      cwd,
      env,
      restart,
      version,
      redact,
      serve: {
        request: (method, params, signal) => this.serve(method, params, signal),
        notification: (method, params) => this.notified(method, params),
      },
      changed: () => this.changed(),
      ended: () => this.sessions.clear(),
    });
    const { agent, name } = this;
    const ids = createSessionIds(scope.uses.records, { command: name, cwd });
    const changed = (): void => this.changed();
    this.sessions = new AgentSessions({ agent, name, cwd, mode, ids, log: scope.log, changed });
    this.backlog = new Backlog((isPaused) => agent.pause(isPaused));
  }

  register(): void {
    const { scope, agent } = this;
    const { stopGraceS = 10, suggestions } = this.options;
    scope.onStop(() => agent.supervisor.kill());
    const handling = {
      order: "ended",
      stopGraceS,
      status: () => toApplicationStatus(this.status(), agent.supervisor.status().state),
      ...(suggestions && { suggestions }),
    } as const;
    scope.onStop(scope.needs.channels.handle((message) => this.handle(message), handling));
    scope.on("channels:session-cleared", (address) => this.sessions.forget(address));
    scope.onReady(() => {
      agent.supervisor.start();
      return async () => {
        await scope.needs.channels.drained();
        await agent.supervisor.stop();
      };
    });
  }

  status(): AgentStatus {
    const { agentInfo } = this.agent.info() ?? {};
    const { commands, modes } = this.sessions;
    const mode = modes?.all.find(({ id }) => id === modes.current);
    const problem = this.agent.problem();
    return {
      ...(agentInfo && { name: agentInfo.title ?? agentInfo.name }),
      ...(agentInfo?.version !== undefined && { version: agentInfo.version }),
      ...(problem && { problem }),
      ...(mode && { mode }),
      modes: modes?.all ?? [],
      commands,
      ...this.asked,
    };
  }

  programStatus(): ProgramStatus {
    const { supervisor, outputLog } = this.agent;
    const pid = supervisor.running()?.pid;
    const lastInvalidLine = outputLog.lastInvalidLine();
    return {
      ...supervisor.status(),
      command: this.name,
      ...(pid === undefined ? {} : { pid }),
      inWork: this.turns.size,
      queued: 0,
      ...this.settled,
      dropped: 0,
      knowsStop: true,
      stopTimeouts: this.stopTimeouts,
      invalidLines: outputLog.invalidLines(),
      ...(lastInvalidLine && { lastInvalidLine }),
      stderr: [...outputLog.recent()],
    };
  }

  private changed(): void {
    this.scope.needs.channels.statusChanged();
    if (this.isEventScheduled) return;
    this.isEventScheduled = true;
    this.scope.after(eventIntervalMs, () => {
      this.isEventScheduled = false;
      const { state, restarts } = this.agent.supervisor.status();
      this.scope.emit("acp:state-changed", { state, restarts });
    });
  }

  private async handle(message: Message): Promise<void> {
    // The agent acts on a prompt immediately, so a repetition of the message must be a duplicate.
    message.accept();
    try {
      await this.answer(message);
      this.settled[message.signal.aborted ? "stopped" : "answered"] += 1;
    } catch (error) {
      this.settled[message.signal.aborted ? "stopped" : "failed"] += 1;
      throw error;
    }
  }

  private async answer(message: Message): Promise<void> {
    const stopped = new Promise<undefined>((resolve) => {
      const stop = (): void => resolve(undefined);
      if (message.signal.aborted) stop();
      else message.signal.addEventListener("abort", stop, { once: true });
    });
    // A session that is still being opened is kept for the next message.
    const opened = await Promise.race([this.open(message), stopped]);
    if (!opened) return;
    const { needs, log, clock, after } = this.scope;
    const { session } = opened;
    const turn = new Turn({
      message,
      session,
      channels: needs.channels,
      backlog: this.backlog,
      log,
      clock,
      after,
      ranUnasked: () => {
        session.unasked += 1;
        this.asked.unasked += 1;
        this.changed();
      },
    });
    this.turns.set(session.id, turn);
    let reason = "The agent ended its turn before this step.";
    try {
      const result = await this.prompt(turn, opened, stopped);
      await turn.close(reason);
      if (result) turn.finish(result);
    } catch (error) {
      reason = (error as Error).message;
      throw this.toFailure(error);
    } finally {
      if (this.turns.get(session.id) === turn) this.turns.delete(session.id);
      await turn.close(reason);
    }
  }

  /** Opens the session of the agent, after the end of an earlier prompt. */
  private async open(message: Message): Promise<OpenedSession> {
    const opened = await this.whileOthersWait(message, this.sessions.find(message));
    if (!opened.session.isBusy) return opened;
    if (!(await this.agent.restartHung("it ignored a stop"))) throw acpErrors.agent_busy();
    return this.sessions.find(message);
  }

  /** Some agents open no session while another one waits for a person. */
  private async whileOthersWait<T>(message: Message, work: Promise<T>): Promise<T> {
    const cancel = this.scope.after(blockedMs, () => {
      if (this.openQuestions === 0) return;
      const content =
        "The agent waits for the answer to a question in another conversation, and begins this " +
        "one afterwards.";
      message.reply({ kind: "notice", content }).catch((error: Error) => {
        this.scope.log.debug({ reason: error.message }, "the sender was not told that it waits");
      });
    });
    try {
      return await work;
    } finally {
      cancel();
    }
  }

  /** @returns Undefined if the agent did not end a stopped turn in time. */
  private async prompt(turn: Turn, opened: OpenedSession, stopped: Promise<undefined>) {
    const { message, session } = turn;
    const { agentCapabilities } = this.agent.info() ?? {};
    const { parts, leftOut } = await toPrompt(message, {
      files: this.scope.uses.media,
      images: agentCapabilities?.promptCapabilities.image === true,
      isNew: opened.isNew,
    });
    if (message.signal.aborted) return undefined;
    if (opened.hasForgotten) turn.notice("The agent has forgotten this conversation.");
    if (leftOut > 0) turn.notice(`The agent cannot read ${leftOut} of the files.`);
    const settled = (): void => {
      session.isBusy = false;
      turn.end();
      if (this.turns.get(session.id) === turn) this.turns.delete(session.id);
    };
    session.isBusy = true;
    const params = { sessionId: session.id, prompt: parts };
    const answer = session.connection.request("session/prompt", params, { settled });
    const timedOut = stopped.then(() => {
      turn.cancel();
      const { stopGraceS = 10 } = this.options;
      return new Promise<undefined>((resolve) => {
        createRunningTimer(this.scope)(stopGraceS * 1_000, () => resolve(undefined));
      });
    });
    const result = await Promise.race([answer, timedOut]);
    if (result !== undefined) return promptResult.parse(result);
    answer.catch(() => undefined); // the turn has ended without it
    this.stopTimeouts += 1;
    return undefined;
  }

  /** @returns The error for the sender. */
  private toFailure(error: unknown): Error {
    if (!(error instanceof RpcError)) return error as Error;
    if (error.code === rpcCodes.authRequired) return this.sessions.needsSignIn();
    return acpErrors.agent_failed(wordsOf(error));
  }

  private async serve(method: string, params: unknown, signal: AbortSignal): Promise<unknown> {
    const context = (turn: Turn): AskContext => {
      const { questionMaxS = 0 } = this.options;
      return { turn, signal, maxMs: questionMaxS * 1_000, log: this.scope.log };
    };
    if (method === "session/request_permission") {
      const request = readParams(permissionRequest, params);
      const turn = this.turns.get(request.sessionId);
      if (!turn) return { outcome: { outcome: "cancelled" } };
      turn.session.asked += 1;
      this.asked.asked += 1;
      this.changed();
      return this.asking(() => askPermission(request, context(turn)));
    }
    if (method === "elicitation/create") {
      const request = readParams(elicitationRequest, params);
      const turn = this.turnOf(request.sessionId);
      if (!turn) return { action: "cancel" };
      const { elicitationId } = request;
      if (elicitationId === undefined) return this.asking(() => askForm(request, context(turn)));
      const link = new AbortController();
      this.links.set(elicitationId, link);
      try {
        const either = AbortSignal.any([signal, link.signal]);
        return await this.asking(() => askForm(request, { ...context(turn), signal: either }));
      } finally {
        this.links.delete(elicitationId);
      }
    }
    throw new RpcError(rpcCodes.methodNotFound, `Method not found: ${method}`);
  }

  private async asking<T>(ask: () => Promise<T>): Promise<T> {
    this.openQuestions += 1;
    try {
      return await ask();
    } finally {
      this.openQuestions -= 1;
    }
  }

  /** A form may name a request in place of a session: then there must be one turn only. */
  private turnOf(sessionId: string | undefined): Turn | undefined {
    if (sessionId !== undefined) return this.turns.get(sessionId);
    return this.turns.size === 1 ? [...this.turns.values()][0] : undefined;
  }

  private notified(method: string, params: unknown): void {
    const { log } = this.scope;
    try {
      if (method === "session/update") return this.updated(params);
      if (method === "elicitation/complete")
        return this.links.get(elicitationComplete.parse(params).elicitationId)?.abort();
    } catch (error) {
      return this.agent.outputLog.invalidLine(method, (error as Error).message.slice(0, 300));
    }
    log.debug({ method }, "the agent sent a notification that has no effect");
  }

  private updated(params: unknown): void {
    const { sessionId, update } = readSessionUpdate(params);
    if (!update) return;
    // An agent may describe itself before it has answered with the id of the session.
    const turn = this.turns.get(sessionId);
    const session = turn?.session ?? this.sessions.session(sessionId);
    if (this.sessions.update(session, update)) this.changed();
    // While a session is continued, the agent repeats what Doorward has.
    if (session?.isLoading === false) turn?.update(update);
  }
}
