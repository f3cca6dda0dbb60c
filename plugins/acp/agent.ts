// Runs the process of the agent and the connection to it: from the start to `initialize`.
import type { Release, Scope } from "../../kernel/index.ts";
import {
  initializeResult,
  RpcConnection,
  rpcCodes,
  RpcError,
  type ConnectionOptions,
  type InitializeResult,
} from "../../lib/acp-wire/index.ts";
import { OutputLog, Supervisor } from "../../lib/child-process/index.ts";
import { createRunningTimer } from "../../lib/running-time.ts";
import { acpErrors } from "./errors.ts";
import { problems, refusal, wordsOf } from "./problems.ts";
import type { AcpShape, AgentProblem } from "./service.ts";

/** Agents send whole files in one line. */
const maxLineBytes = 16 * 1024 * 1024;
/** Agents load many libraries: a cold start takes seconds, and a minute on a busy machine. */
const initializeMs = 120_000;
/** An agent that has written text in place of JSON gets less time. */
const textMs = 10_000;
const protocolVersion = 1;

interface AgentOptions {
  readonly scope: Scope<AcpShape>;
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly restart: "always" | "on-failure" | "never";
  readonly version: string;
  readonly redact: (text: string) => string;
  /** Handles what the agent asks for. */
  readonly serve: Pick<ConnectionOptions, "request" | "notification">;
  /** The agent started, ended, or something about it changed. */
  readonly changed: () => void;
  readonly ended: () => void;
}

/** A running agent that has answered `initialize`. */
export interface ReadyAgent {
  readonly connection: RpcConnection;
  readonly info: InitializeResult;
}

interface Start {
  readonly connection: RpcConnection;
  /** Replaced when an agent answers after its time. */
  ready: Promise<ReadyAgent>;
  readonly reject: (error: Error) => void;
  /** Rejects with what is wrong, and shows it. */
  readonly fail: (problem: AgentProblem) => void;
  isReady: boolean;
  /** True if Doorward ends it, because nothing else would repair it. */
  isUseless: boolean;
  wroteText: boolean;
}

/** Creates a promise with its two ends. Waiting messages see its rejection. */
function createSettled<T>() {
  let resolve: (value: T) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<T>((onValue, onError) => {
    resolve = onValue;
    reject = onError;
  });
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

const lineAdvice = {
  fields: {},
  text:
    "the agent writes lines to standard output that are not messages of the Agent Client " +
    "Protocol; it should log to standard error",
};

export class Agent {
  readonly supervisor: Supervisor;
  readonly outputLog: OutputLog;
  private readonly options: AgentOptions;
  private current: Start | undefined;
  private known: InitializeResult | undefined;
  private found: AgentProblem | undefined;
  private ending: (() => void)[] = [];
  /** Messages that wait for the next start. */
  private waiting: ((start: Start | Error) => void)[] = [];

  constructor(options: AgentOptions) {
    this.options = options;
    const { scope, command, cwd, env, restart, redact } = options;
    this.outputLog = new OutputLog({
      clock: scope.clock,
      log: scope.log,
      redact,
      advice: lineAdvice,
    });
    this.supervisor = new Supervisor({
      scope,
      command: { words: command, cwd, env, maxLineBytes },
      restart,
      output: {
        line: (text) => this.current?.connection.receive(text),
        tooLong: () => this.onLongLine(),
        stderrLine: (text) => {
          this.outputLog.stderrLine(text);
          options.changed();
        },
        drained: () => undefined,
      },
      started: () => this.onStarted(),
      ended: (how, isDown) => this.onEnded(how, isDown),
    });
  }

  /** The description that the agent gave of itself. */
  info(): InitializeResult | undefined {
    return this.known;
  }

  problem(): AgentProblem | undefined {
    return this.found;
  }

  /** Shows what is wrong, until it is repaired. */
  report(problem: AgentProblem | undefined): void {
    if (problem?.code === this.found?.code && problem?.sentence === this.found?.sentence) return;
    this.found = problem;
    if (problem)
      this.options.scope.log.warn({ code: problem.code, fix: problem.fix }, problem.sentence);
    this.options.changed();
  }

  /**
   * Resolves when the agent has answered `initialize`.
   *
   * @throws agent_not_running if it does not run, or is not an agent.
   */
  async ready(): Promise<ReadyAgent> {
    // A process that is ending reads nothing more.
    const isEnding = this.supervisor.running()?.acceptsInput() === false;
    const start = (isEnding ? undefined : this.current) ?? (await this.nextStart());
    if (start instanceof Error) throw start;
    return start.ready;
  }

  /**
   * Ends an agent that does not do what it must; it is started again.
   *
   * @returns False if the settings forbid a restart. Resolves when it has ended.
   */
  async restartHung(reason: string): Promise<boolean> {
    const isRunning = this.supervisor.running()?.acceptsInput() === true;
    if (this.options.restart === "never" || !isRunning) return !isRunning;
    const ended = new Promise<void>((resolve) => this.ending.push(resolve));
    this.supervisor.restartHung(reason);
    await ended;
    return true;
  }

  pause(isPaused: boolean): void {
    this.supervisor.running()?.pause(isPaused);
  }

  private nextStart(): Promise<Start | Error> {
    const { state } = this.supervisor.status();
    if (state === "ended" || state === "stopped" || this.supervisor.isDown())
      return Promise.resolve(this.notRunning());
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private notRunning(): Error {
    const problem = this.found ?? problems.ended(this.name(), this.lastEnd());
    return acpErrors.agent_not_running(`${problem.sentence} ${problem.fix}`);
  }

  private name(): string {
    return this.options.redact(this.options.command.join(" "));
  }

  private lastEnd(): string {
    return this.supervisor.status().lastEnd ?? "it was not started";
  }

  private onStarted(): void {
    this.outputLog.processStarted();
    const { serve, scope } = this.options;
    const connection = new RpcConnection({
      ...serve,
      write: (line) => void this.supervisor.running()?.write(line),
      invalid: (line, reason) => this.onInvalidLine(line, reason),
    });
    const { promise: ready, resolve, reject } = createSettled<ReadyAgent>();
    const fail = (problem: AgentProblem): void => {
      this.report(problem);
      reject(acpErrors.agent_not_running(`${problem.sentence} ${problem.fix}`));
    };
    const flags = { isReady: false, isUseless: false, wroteText: false };
    const start: Start = { connection, ready, reject, fail, ...flags };
    this.current = start;
    const afterRunning = createRunningTimer(scope);
    const cancel = afterRunning(initializeMs, () =>
      fail(problems.silent(this.name(), initializeMs / 1_000)),
    );
    void this.initialize(start, resolve, cancel);
    for (const wake of this.waiting.splice(0)) wake(start);
    this.options.changed();
  }

  private async initialize(
    start: Start,
    resolve: (agent: ReadyAgent) => void,
    cancel: Release,
  ): Promise<void> {
    const { connection, fail } = start;
    try {
      const answer = await connection.request("initialize", {
        protocolVersion,
        clientCapabilities: {
          fs: { readTextFile: false, writeTextFile: false },
          terminal: false,
          auth: { terminal: false },
          elicitation: { form: {}, url: {} },
        },
        clientInfo: { name: "doorward", title: "Doorward", version: this.options.version },
      });
      const info = initializeResult.parse(answer);
      if (info.protocolVersion !== protocolVersion) {
        start.isUseless = true;
        fail(problems.version(this.name(), info.protocolVersion));
        return this.supervisor.end(`it speaks version ${info.protocolVersion} of the protocol`);
      }
      start.isReady = true;
      this.known = info;
      this.report(undefined);
      resolve({ connection, info });
      start.ready = Promise.resolve({ connection, info });
    } catch (error) {
      // A process that has ended says so itself.
      if (this.current !== start) return;
      const isAnswer = error instanceof RpcError && error.code !== rpcCodes.methodNotFound;
      if (isAnswer) fail(refusal(this.name(), wordsOf(error)));
      else fail(problems.notAcp(this.name()));
    } finally {
      cancel();
    }
  }

  private onInvalidLine(line: string, reason: string): void {
    this.outputLog.invalidLine(line, reason);
    const start = this.current;
    this.options.changed();
    if (!start || start.isReady || start.wroteText) return;
    start.wroteText = true;
    this.report(problems.notAcp(this.name()));
    createRunningTimer(this.options.scope)(textMs, () => {
      if (!start.isReady && this.current === start) start.fail(problems.notAcp(this.name()));
    });
  }

  /** The rest of a message is missing, and a request could wait indefinitely. */
  private onLongLine(): void {
    this.outputLog.warn({ code: "acp_line_too_long" }, "the agent wrote a line over 16 MiB");
    const reason = "it wrote a line over 16 MiB";
    if (this.options.restart === "never") this.supervisor.end(reason);
    else void this.restartHung(reason);
  }

  private onEnded(how: string, isDown: boolean): void {
    const start = this.current;
    this.current = undefined;
    const stderr = this.outputLog.recent().at(-1)?.text;
    const name = this.name();
    const state = this.supervisor.status().state;
    if (state !== "stopped" && start?.isUseless !== true && (start?.isReady !== true || isDown)) {
      if (start?.isReady === true) this.report(problems.ended(name, how));
      else if (start?.wroteText === true) this.report(problems.notAcp(name));
      else this.report(problems.exit(name, how, stderr));
    }
    const error = acpErrors.application_ended(how);
    start?.reject(start.isReady ? error : this.notRunning());
    start?.connection.close(error);
    this.options.ended();
    for (const resolve of this.ending.splice(0)) resolve();
    if (isDown || state === "stopped")
      for (const wake of this.waiting.splice(0)) wake(this.notRunning());
    this.options.changed();
  }
}
