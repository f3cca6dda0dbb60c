// Lists every timer of the plugins with what it measures: a suspension (SIGSTOP, a closed laptop)
// or a clock that is set must not end work, nor delete anything.
import { describe, expect, test } from "vitest";
import { sources } from "./source.ts";

const timer =
  /\b(?:setTimeout|setInterval|after|afterRunning|createRunningTimer|runningTimerOf)\((?!\)|ms: number|run: \()/;

/** The limit of some work. It counts the time in which the process runs, after all that arrived. */
const byRunningTime = [
  "plugins/acp/agent.ts", // an agent that does not begin
  "plugins/acp/index.ts", // an agent that ignores a stop
  "plugins/channels/index.ts", // answers without a client, and the grace of a stopped one
  "plugins/channels/questions.ts", // questions expire: the clocks alone refuse late answers
  "plugins/channels/reply-streams.ts",
  "plugins/channels/runs.ts",
  "plugins/http/router.ts", // the body of a request
  "plugins/media/check.ts", // the owner's command that checks files
  "plugins/program/index.ts", // `timeout_s`
  "plugins/program/pending-messages.ts",
  "plugins/protocols/protocol.ts", // `answer_s`, and kept answers
  "plugins/protocols/runs.ts",
];

/** An end that must come in time: a suspension makes it due, and so does either clock. */
const byEitherClock = [
  "plugins/channels/define-channel.ts", // the grace of an old token
  "plugins/dashboard/server/auth/sessions.ts", // looks hourly; a steady clock decides
  "plugins/http/identities.ts", // the identity of a host expires
  "plugins/keys/key-ring.ts",
  "plugins/pico-server/connection/registry.ts", // the grace of an old token
  "plugins/tray/clipboard.ts", // a secret leaves the clipboard
];

/** Looks for stored data that is old. `deletions.test.ts` holds the clocks that decide. */
const sweeps = [
  "plugins/decisions/index.ts",
  "plugins/channels/session-questions.ts",
  "plugins/conversations/sqlite/conversations.ts",
  "plugins/conversations/sqlite/store.ts",
  "plugins/media/upkeep.ts",
  "plugins/redis/ownership.ts",
];

/** Data that only memory has: `guarantees.md` promises none of it. */
const memory = ["plugins/conversations/log/memory-session-log.ts"];

/** Tries again, collects, or draws: it may run at any time. */
const pace = [
  "plugins/backup/index.ts", // looks whether a backup is due
  "plugins/acp/turn.ts",
  "plugins/channels/durable-answers.ts",
  "plugins/channels/edit-throttle.ts",
  "plugins/channels/ownership-queue.ts",
  "plugins/channels/send-queue.ts",
  "plugins/conversations/sqlite/writer.ts",
  "plugins/dashboard/server/api/event-feed.ts",
  "plugins/dashboard/server/api/figures.ts",
  "plugins/http/log-limiter.ts",
  "plugins/program/sent-messages.ts",
  "plugins/pico-server/session/whole-texts.ts",
  "plugins/protocols/answer-run.ts",
  "plugins/protocols/sse.ts",
  "plugins/protocols/stream.ts",
  "plugins/push/delivery.ts",
  "plugins/push/pushes.ts",
  "plugins/redis/live-sessions.ts",
  "plugins/redis/note-buffer.ts",
  "plugins/redis/passes.ts",
  "plugins/settings/index.ts",
  "plugins/tray/controller.ts",
  "plugins/tray/platforms/linux.ts",
  "plugins/tray/status-notifier/registration.ts",
];

/** A caller waits for a result in one turn of talk. It may ask again, and nothing is ended. */
const waits = [
  "plugins/dashboard/server/api/console-messages.ts",
  "plugins/dashboard/server/api/conversations.ts",
  "plugins/pico-server/http/wait-for-reply.ts",
  "plugins/protocols/openai/exchange.ts",
  "plugins/redis/inspect.ts",
  "plugins/token-store/store.ts",
  "plugins/tray/dbus/bus.ts",
  "plugins/tray/platforms/script.ts",
];

/** Whether a peer is there, or closes in time. Clients connect again, and nothing is lost. */
const connections = [
  "plugins/dashboard/server/auth/proxy-probe.ts", // the check of the doctor
  "plugins/dashboard/server/probe/grants.ts",
  "plugins/dashboard/server/probe/routes.ts",
  "plugins/dashboard/server/probe/socket.ts",
  "plugins/channels/answer-stop.ts", // `stop-times.test.ts`: a stop ends whatever happens
  "plugins/dashboard/server/control/socket.ts",
  "plugins/http/kit.ts",
  "plugins/http/responses.ts",
  "plugins/http/server.ts",
  "plugins/pico-client/dial.ts",
  "plugins/pico-server/channel.ts",
  "plugins/pico-server/connection/liveness.ts",
  "plugins/pico-server/connection/web-socket.ts",
  "plugins/pico-server/http/event-stream.ts",
  "plugins/pico-server/shutdown.ts",
  "plugins/push/sender.ts",
  "plugins/redis/link.ts",
  "plugins/redis/nodes.ts",
];

describe("Timers of plugins", () => {
  const own = sources().filter(
    ({ path }) => path.startsWith("plugins/") && !path.startsWith("plugins/dashboard/pages/"),
  );

  test("have a known kind", () => {
    const found = own.filter(({ code }) => timer.test(code)).map(({ path }) => path);
    const known = [byRunningTime, byEitherClock, sweeps, memory, pace, waits, connections];
    expect(found.sort()).toEqual(known.flat().sort());
  });

  test("count running time if they end work", () => {
    const plain = own
      .filter(({ path }) => byRunningTime.includes(path))
      .flatMap(({ path, code }) =>
        code
          .split("\n")
          .filter((line) => timer.test(line) && !/[rR]unning/.test(line))
          .map((line) => `${path} ${line.trim()}`),
      );
    expect(plain).toEqual([
      // Collects changes of the state, and tells a sender that others are first.
      "plugins/acp/index.ts this.scope.after(eventIntervalMs, () => {",
      "plugins/acp/index.ts const cancel = this.scope.after(blockedMs, () => {",
      // Registers a host late, stores a settlement again, sends the next text of a stream, and sends a count of lines.
      "plugins/channels/index.ts after(statusIntervalMs, () => {",
      "plugins/channels/index.ts after(applicationWaitMs, () => {",
      "plugins/channels/questions.ts this.options.after(retryMs, () => void this.confirm(entry));",
      "plugins/channels/questions.ts this.options.after(retryMs, () => {",
      "plugins/channels/questions.ts this.options.after(retryMs, () => void this.confirm(entry));",
      "plugins/channels/reply-streams.ts this.cancelTimer = after(wait, () => {",
      "plugins/program/index.ts this.scope.after(eventIntervalMs, () => {",
      // The grace of an old token.
      "plugins/protocols/protocol.ts if (name === token) scope.after((graceS ?? 0) * 1_000, end);",
      // `after` of these is a running timer: see protocol.ts.
      'plugins/protocols/runs.ts else if (stops === "later") after(repeatMs, stop);',
      "plugins/protocols/runs.ts if (!run.end) releases.push(after(answerMs(), () => run.giveUp()));",
      "plugins/protocols/runs.ts if (!isAsking && !run.end) cancelTimeout = after(answerMs(), onTimeout);",
      "plugins/protocols/runs.ts cancelTimeout = after(answerMs(), onTimeout);",
      "plugins/protocols/runs.ts this.options.after(ms, () => this.forget(key)),",
    ]);
  });
});
