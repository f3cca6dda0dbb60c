// Runs a program in any language as the application. Messages are lines of JSON on its standard
// input, replies are lines of JSON on its standard output (docs/programs.md). One process serves
// all sessions: `lib/child-process` runs it, `pending-messages` tracks the messages it
// received, `replies` passes its output to the channels.
import type { Plugin, Scope } from "../../kernel/index.ts";
import { createPrivateFolder } from "../../lib/files/index.ts";
import type { ApplicationOptions, ApplicationStatus, Message } from "../channels/index.ts";
import { OutputLog, Supervisor } from "../../lib/child-process/index.ts";
import { createRunningTimer } from "../../lib/running-time.ts";
import { AnswerFiles } from "./answer-files.ts";
import { openAnswerFolder, type AnswerFolder } from "./answer-folder.ts";
import { createHistoryLines } from "./history.ts";
import { findFiles } from "./message-media.ts";
import { PendingMessages } from "./pending-messages.ts";
import {
  intendedTarget,
  intendedTargetOfPrefix,
  parseFrame,
  type ReadyFrame,
  type TitleFrame,
} from "./protocol.ts";
import { ProgramQuestions } from "./questions.ts";
import { Replies } from "./replies.ts";
import type { ProgramShape, ProgramStatus } from "./service.ts";

export type {
  ProgramShape,
  ProgramEvents,
  Program,
  StderrLine,
  ProcessStatus,
  ProgramState,
  ProgramStatus,
} from "./service.ts";

export { handlerSchema, programEnvironment, type HandlerConfig } from "./config.ts";

/** Options of `program`. */
export interface ProgramOptions {
  /** Program and arguments, passed to the operating system without a shell. */
  readonly command: readonly [string, ...string[]];
  /** Working directory. @defaultValue the working directory of this process */
  readonly cwd?: string;
  /** The environment of the program. `DOORWARD_CAN`, `DOORWARD_MEDIA` and
   *  `DOORWARD_STATE` are added to it.
   *  `programEnvironment` makes one without secrets. */
  readonly env: Readonly<Record<string, string>>;
  /** The folder that the program may send files from: an absolute path, never the home.
   *  @defaultValue a private folder for this run, outside of the home */
  readonly mediaDir?: string;
  /** A folder that outlives the program, for what it keeps of its conversations. It is created for
   *  this user alone, and is `DOORWARD_STATE` of the program. @defaultValue none */
  readonly stateDir?: string;
  /** Exits after which the program is restarted. @defaultValue `"always"` */
  readonly restart?: "always" | "on-failure" | "never";
  /**
   * Seconds without activity on a message until its sender receives `no_answer`; 0 = never.
   * @defaultValue 120
   */
  readonly timeoutS?: number;
  /**
   * Seconds after a stop in which the program must end its reply. Then the stop times out, and
   * its later output about the message is dropped. @defaultValue 10
   */
  readonly stopGraceS?: number;
  /** Seconds after which each question of the program expires; 0 = when the program says.
   *  @defaultValue 0 */
  readonly questionMaxS?: number;
  /** Messages that chat pages offer to begin with: at most four. @defaultValue those of the page */
  readonly suggestions?: readonly string[];
  /**
   * Removes secrets from the command and the stderr lines that pages show. The log redacts
   * separately. @defaultValue no change
   */
  readonly redact?: (text: string) => string;
}

/** Parts of the protocol that this version understands, for programs. */
const understood = "stop,append,parts,questions,tools,continue,order,status";
/** Accepted and unfinished messages of one session. */
const maxPerSession = 64;
const maxLineBytes = 1024 * 1024;
const lineAdvice = {
  fields: { example: '{"type":"message.create","payload":{"request_id":"1","content":"hello"}}' },
  text:
    "the program writes lines to standard output that are not messages. Write one JSON " +
    "object per line, as in the example (docs/programs.md), and log to standard error",
};
/** Minimum time between two events about lines on standard error. */
const eventIntervalMs = 1_000;

/**
 * Creates the plugin that runs a program as the application. The program starts when the kernel
 * is ready. It ends together with all its child processes when the kernel stops.
 *
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { program, programEnvironment } from "doorward/plugins/program";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const env = programEnvironment(process.env, "SERVICE");
 * const kernel = createKernel([
 *   tokenStore(memory({ pico: token })),
 *   channels(),
 *   http(),
 *   picoServer(),
 *   program({ command: ["python3", "echo.py"], env }),
 * ]);
 */
export function program(options: ProgramOptions): Plugin<ProgramShape> {
  return {
    name: "program",
    api: 1,
    needs: { channels: true },
    uses: { media: true },

    async start(scope) {
      if (options.stateDir !== undefined) await createPrivateFolder(options.stateDir);
      const folder = scope.uses.media && (await openAnswerFolder(options.mediaDir));
      if (folder) scope.onStop(() => folder.remove());
      const application = new ProgramApplication(scope, options, folder);
      application.register();
      return {
        application: "command",
        program: { status: () => application.status(), restart: () => application.restart() },
      };
    },
  };
}

/** The launcher may itself be a program of another Doorward, so these values override `env`. */
function programVariables(
  { env, stateDir }: ProgramOptions,
  folder: AnswerFolder | undefined,
): Record<string, string> {
  const { DOORWARD_MEDIA: _, DOORWARD_STATE: __, ...own } = env;
  return {
    ...own,
    DOORWARD_CAN: folder ? `${understood},media` : understood,
    ...(folder && { DOORWARD_MEDIA: folder.path }),
    ...(stateDir !== undefined && { DOORWARD_STATE: stateDir }),
  };
}

/** Connects the process, the pending messages and the replies. */
class ProgramApplication {
  private readonly scope: Scope<ProgramShape>;
  private readonly commandLine: string;
  private readonly outputLog: OutputLog;
  private readonly supervisor: Supervisor;
  private readonly pendingMessages: PendingMessages;
  private readonly replies: Replies;
  private readonly questions: ProgramQuestions;
  private readonly handling: ApplicationOptions;
  private readonly settled = { answered: 0, failed: 0, stopped: 0 };
  /** Undefined until the running program says what it can do. */
  private capabilities: readonly string[] | undefined;
  private isOrdered = false;
  /** The last `status` line of the running program. */
  private ownStatus: ApplicationStatus | undefined;
  private readonly answerHistory: ReturnType<typeof createHistoryLines>;
  private isEventScheduled = false;
  private isPaused = false;

  constructor(
    scope: Scope<ProgramShape>,
    options: ProgramOptions,
    folder: AnswerFolder | undefined,
  ) {
    const { command, cwd, restart = "always", timeoutS = 120, suggestions } = options;
    const { stopGraceS = 10, questionMaxS = 0, redact = (text: string) => text } = options;
    const { needs, uses, clock, log, after } = scope;
    const files = new AnswerFiles(uses.media, folder);
    this.scope = scope;
    this.handling = {
      perSession: maxPerSession,
      stopGraceS,
      withdraw: (message) => this.pendingMessages.withdraw(message),
      can: () => this.capabilities ?? [],
      status: () => this.ownStatus,
      ...(suggestions && { suggestions }),
    };
    this.commandLine = redact(command.join(" "));
    this.outputLog = new OutputLog({ clock, log, redact, advice: lineAdvice });
    this.supervisor = new Supervisor({
      scope,
      command: { words: command, cwd, env: programVariables(options, folder), maxLineBytes },
      restart,
      output: {
        line: (text) => this.onLine(text),
        tooLong: (beginning) => this.onLongLine(beginning),
        stderrLine: (text) => this.onStderrLine(text),
        drained: () => this.pendingMessages.pump(),
      },
      started: () => this.onStarted(),
      ended: (how, isDown) => this.onEnded(how, isDown),
    });
    this.pendingMessages = new PendingMessages({
      afterRunning: createRunningTimer({ clock, after }),
      timeoutS,
      running: () => this.supervisor.running(),
      settled: (outcome) => void (this.settled[outcome] += 1),
      closeAnswer: (request) => this.replies.closeAnswer(request),
      findFiles: (message) => findFiles(message, uses.media),
      can: (name) => this.can(name),
      isOrdered: () => this.isOrdered,
      stopTimeoutsChanged: () => this.emitStateChanged(),
      hung: (reason) => {
        // While reading is paused, Doorward itself does not see the output.
        if (!this.isPaused) this.supervisor.restartHung(reason);
      },
      isAsking: () => this.questions.isAsking(),
      downReason: () => this.downReason(),
    });
    this.answerHistory = createHistoryLines({
      channels: needs.channels,
      pendingMessages: this.pendingMessages,
      log: this.outputLog,
    });
    this.replies = new Replies({
      channels: needs.channels,
      files,
      pendingMessages: this.pendingMessages,
      hasParts: () => this.can("parts"),
      clock,
      log: this.outputLog,
      after,
      pause: (isPaused) => {
        this.isPaused = isPaused;
        this.supervisor.running()?.pause(isPaused);
      },
    });
    this.questions = new ProgramQuestions({
      channels: needs.channels,
      pendingMessages: this.pendingMessages,
      log: this.outputLog,
      replies: this.replies,
      maxS: questionMaxS,
    });
  }

  register(): void {
    const { supervisor, pendingMessages, scope } = this;
    scope.onStop(() => supervisor.kill());
    const accept = (message: Message): Promise<void> => pendingMessages.accept(message);
    scope.onStop(scope.needs.channels.handle(accept, this.handling));
    // The event names the person, and `message.signal` would cost a signal for each message.
    scope.on("channels:stop-asked", ({ id, by, ...address }) => {
      for (const request of pendingMessages.stop(address, id, by)) this.replies.stopped(request);
    });
    scope.on("channels:session-cleared", (address) => pendingMessages.forget(address));
    scope.on("channels:stop-timed-out", ({ id, ...address }) =>
      pendingMessages.giveUp(address, id),
    );
    scope.onReady(() => {
      supervisor.start();
      return async () => {
        await scope.needs.channels.drained();
        await supervisor.stop();
      };
    });
  }

  restart(): boolean {
    return this.supervisor.restart();
  }

  status(): ProgramStatus {
    const { supervisor, pendingMessages, replies, settled } = this;
    const pid = supervisor.running()?.pid;
    const lastInvalidLine = this.outputLog.lastInvalidLine();
    return {
      ...supervisor.status(),
      command: this.commandLine,
      ...(pid === undefined ? {} : { pid }),
      inWork: pendingMessages.inWork(),
      queued: pendingMessages.queued(),
      ...settled,
      dropped: replies.droppedLines(),
      knowsStop: this.can("stop"),
      stopTimeouts: pendingMessages.stopTimeouts(),
      invalidLines: this.outputLog.invalidLines(),
      ...(lastInvalidLine && { lastInvalidLine }),
      stderr: [...this.outputLog.recent()],
    };
  }

  private can(name: string): boolean {
    return this.capabilities?.includes(name) === true;
  }

  private emitStateChanged(): void {
    this.scope.emit("program:state-changed", () => {
      const { state, restarts } = this.supervisor.status();
      return { state, restarts };
    });
  }

  private onStarted(): void {
    this.outputLog.processStarted();
    this.supervisor.running()?.pause(this.isPaused);
    this.scope.needs.channels.deliverAnswers();
    this.pendingMessages.pump();
    this.emitStateChanged();
  }

  private setStatus(status: ApplicationStatus | undefined): void {
    if (status === this.ownStatus) return;
    this.ownStatus = status;
    this.scope.needs.channels.statusChanged();
  }

  private onEnded(how: string, isDown: boolean): void {
    this.setStatus(undefined);
    this.capabilities = undefined;
    this.isOrdered = false;
    this.questions.programEnded(how);
    this.pendingMessages.programEnded(how, isDown);
    this.replies.programEnded(this.supervisor.status().state === "stopped");
    this.emitStateChanged();
  }

  private onStderrLine(text: string): void {
    this.pendingMessages.outputReceived();
    this.outputLog.stderrLine(text);
    this.emitSoon();
  }

  private onInvalidLine(text: string, reason: string): void {
    this.outputLog.invalidLine(text, reason);
    this.emitSoon();
  }

  private emitSoon(): void {
    if (this.isEventScheduled) return;
    this.isEventScheduled = true;
    this.scope.after(eventIntervalMs, () => {
      this.isEventScheduled = false;
      this.emitStateChanged();
    });
  }

  private onLine(text: string): void {
    this.pendingMessages.outputReceived();
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return this.onInvalidLine(text, "not JSON");
    }
    const frame = parseFrame(value);
    if (typeof frame !== "string") {
      if (frame.type === "ready") return this.onReady(text, frame);
      if (frame.type === "status") return this.setStatus(frame.payload as ApplicationStatus);
      if (frame.type === "history.get") return void this.answerHistory(frame);
      if (frame.type === "question.ask") return this.questions.ask(frame);
      if (frame.type === "question.withdraw") return this.questions.withdraw(frame);
      const isDelete = frame.type === "message.delete";
      if (isDelete && this.questions.withdrawNamed(frame.payload.message_id)) return;
      if (frame.type === "conversation.title") return this.setTitle(text, frame);
      return this.replies.accept(frame);
    }
    this.onInvalidLine(text, frame);
    this.replies.rejectInvalid(intendedTarget(value), frame);
  }

  private setTitle(text: string, frame: TitleFrame): void {
    const address = this.pendingMessages.addressIn(frame);
    if (!address)
      return this.outputLog.invalidLine(
        text,
        'it names no "request_id" of a message or "session_id"',
      );
    const { channels } = this.scope.needs;
    channels
      .title(address, frame.payload.title)
      .catch((err: unknown) => this.scope.log.warn({ err }, "a title could not be stored"));
  }

  private onReady(text: string, { payload }: ReadyFrame): void {
    if (this.capabilities) return this.onInvalidLine(text, "a second ready line");
    this.capabilities = payload.can;
    this.isOrdered = payload.order === "ended";
    if (this.can("stop")) this.pendingMessages.writeStops();
    this.emitStateChanged();
  }

  private onLongLine(beginning: string): void {
    this.pendingMessages.outputReceived();
    this.onInvalidLine(beginning, "over 1 MiB");
    this.replies.rejectInvalid(intendedTargetOfPrefix(beginning), "its line is over 1 MiB");
  }

  private downReason(): string | undefined {
    if (!this.supervisor.isDown()) return undefined;
    return this.supervisor.status().lastEnd ?? "it has not been started";
  }
}
