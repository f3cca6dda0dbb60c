/* A program in any language as the one application: messages are lines of JSON on its standard input, answers lines on
 * its standard output (docs/programs.md). One process serves all sessions (supervisor, process, group); what it was
 * given and owes an answer for is in requests, what it says goes out through answers. */
import type { Plugin } from "../../kernel/index.ts";
import { createOutputLog } from "./output-log.ts";
import { createPendingMessages } from "./pending-messages.ts";
import { intendedTarget, intendedTargetOfPrefix, parseFrame } from "./protocol.ts";
import { createReplies } from "./replies.ts";
import type { ProgramShape } from "./service.ts";
import { createSupervisor } from "./supervisor.ts";

export type {
  ProgramShape,
  ProgramEvents,
  Program,
  StderrLine,
  ProgramState,
  ProgramStatus,
} from "./service.ts";

export { handlerSchema, programEnvironment, type HandlerConfig } from "./config.ts";

export interface ProgramOptions {
  /** Program and arguments; no shell reads them. */
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string;
  /** The program's whole environment; `programEnvironment` makes one without secrets of ours. */
  readonly env: Readonly<Record<string, string>>;
  /** After which ends it is started again; default `always`. */
  readonly restart?: "always" | "on-failure" | "never";
  /** Seconds without a sign of a message until its sender gets `no_answer`; default 120, 0 = for ever. */
  readonly timeoutS?: number;
  /** Takes secrets out of what pages show; the log has its own way. */
  readonly redact?: (text: string) => string;
}

/** Messages of one session that it may have accepted and not finished. */
const maxPerSession = 64;
/** Between two facts about what it says. */
const eventIntervalMs = 1_000;

/** Runs the program from ready on, and ends it with everything it has started. */
export function program(options: ProgramOptions): Plugin<ProgramShape> {
  const {
    command: words,
    cwd,
    env,
    restart = "always",
    timeoutS = 120,
    redact = (text) => text,
  } = options;
  return {
    name: "program",
    api: 1,
    needs: { channels: true },

    start(scope) {
      const {
        needs: { channels },
        clock,
        log,
        after,
        emit,
      } = scope;
      let answered = 0;
      let failed = 0;
      let isTelling = false;
      let isPaused = false;

      const speech = createOutputLog({ clock, log, redact });
      const changed = (): void =>
        emit("program:state-changed", () => ({
          state: supervisor.state(),
          restarts: supervisor.restarts(),
        }));

      function said(text: string): void {
        requests.heard();
        speech.log(text);
        if (isTelling) return;
        isTelling = true;
        after(eventIntervalMs, () => {
          isTelling = false;
          changed();
        });
      }

      function line(text: string): void {
        requests.heard();
        let value: unknown;
        try {
          value = JSON.parse(text);
        } catch {
          return speech.stray(text, "not JSON");
        }
        const read = parseFrame(value);
        if (typeof read !== "string") return answers.accept(read);
        speech.stray(text, read);
        answers.unread(intendedTarget(value), read);
      }

      function tooLong(beginning: string): void {
        requests.heard();
        speech.stray(beginning, "over 1 MiB");
        answers.unread(intendedTargetOfPrefix(beginning), "its line is over 1 MiB");
      }

      const supervisor = createSupervisor({
        ...scope,
        command: words,
        cwd,
        env,
        restart,
        line,
        said,
        tooLong,
        drained: () => requests.pump(),
        up() {
          supervisor.running()?.pause(isPaused);
          requests.pump();
          changed();
        },
        down(how, isDown) {
          requests.ended(how, isDown);
          answers.ended();
          changed();
        },
      });
      const requests = createPendingMessages({
        after,
        timeoutS,
        running: supervisor.running,
        settled: (isAnswered) => void (isAnswered ? (answered += 1) : (failed += 1)),
        hung(why) {
          if (!isPaused) supervisor.revive(why); // else it is we who do not read
        },
        down: () =>
          supervisor.isDown() ? (supervisor.lastEnd() ?? "it has not been started") : undefined,
      });
      const answers = createReplies({
        channels,
        requests,
        clock,
        log,
        after,
        pause(is) {
          isPaused = is;
          supervisor.running()?.pause(is);
        },
      });

      scope.onStop(supervisor.kill);
      scope.onStop(channels.handle(requests.accept, { perSession: maxPerSession }));
      scope.onReady(() => {
        supervisor.start();
        return supervisor.stop;
      });

      return {
        application: "command",
        program: {
          status() {
            const pid = supervisor.running()?.pid;
            const lastEnd = supervisor.lastEnd();
            return {
              state: supervisor.state(),
              since: supervisor.since(),
              restarts: supervisor.restarts(),
              command: redact(words.join(" ")),
              ...(pid === undefined ? {} : { pid }),
              ...(lastEnd === undefined ? {} : { lastEnd }),
              inWork: requests.inWork(),
              queued: requests.queued(),
              answered,
              failed,
              stderr: [...speech.recent()],
            };
          },
        },
      };
    },
  };
}
