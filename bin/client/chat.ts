// `doorward client` at a terminal: an interactive conversation.
import { randomUUID } from "node:crypto";
import type { ChatStateChange } from "../../lib/pico-link/index.ts";
import { exitCodes, type CommandContext } from "../commands/command.ts";
import { Stopper } from "./answer-stop.ts";
import { exitStatusOf, interrupted, linkAdvice } from "./exit-status.ts";
import { assumedSentence } from "./incomplete.ts";
import { replyText, sanitizeLine, toMedia } from "./text.ts";
import {
  openClientSession,
  type ClientArguments,
  type ClientSession,
  type SessionOptions,
} from "./session.ts";
import { Screen } from "./screen.ts";
import { ChatQuestions } from "./chat-questions.ts";

/** Messages that are being delivered when the user leaves get this long. */
const drainTimeoutMs = 2_000;

/** Runs until the user leaves or the link stops. While the link is down or blocked, the user sees
 *  the reason and can wait or leave. */
export async function chat(context: CommandContext, options: ClientArguments): Promise<number> {
  let isForced = false;
  let leave: (forced?: boolean) => void;
  const left = new Promise<undefined>((resolve) => {
    leave = (forced = false) => {
      isForced ||= forced; // closing the screen leaves too
      resolve(undefined);
    };
  });
  // Lines typed before the session is open are sent once it is.
  let resolveSession: (session: ClientSession) => void;
  const opened = new Promise<ClientSession>((resolve) => {
    resolveSession = resolve;
  });
  const screen = new Screen({
    input: context.stdin,
    output: process.stdout,
    onEnd: () => leave(),
    onInterrupt: () => stopper.interrupt(),
    onLine(text) {
      if (text.trimEnd() === "/stop") return stopper.command();
      if (!questions.choose(text)) void outbox.send(text);
    },
  });
  const questions = new ChatQuestions(
    (text) => screen.note(text),
    () => stopper.link,
  );
  const status = createStatusLine(screen);
  const stopper = new Stopper({
    note: (text) => screen.note(text),
    status: (text) => screen.status(text),
    isOpen: () => status.last()?.to === "open",
    leave: (forced) => leave(forced),
  });
  const outbox = createOutbox(opened, stopper);
  screen.status("connecting …");
  try {
    const opening = openClientSession(context, {
      ...options,
      notice: (text) => screen.note(text),
      ...createHandlers(screen, stopper, status, questions, options.silenceMs),
    });
    const session = await Promise.race([opening, left]);
    if (!session) return await exitDuringStart(opening, () => screen.close());
    stopper.link = session.link;
    resolveSession!(session);
    // Only an interrupt or a closed link ends the conversation; everything else may recover.
    const stopped = session.ended.then((exit) =>
      exit === interrupted || status.last()?.to === "closed" ? undefined : left,
    );
    await Promise.race([left, stopped]);
    if (status.last()?.to === "open" && !isForced) await outbox.drain();
    const lost = outbox.pending();
    status.stop();
    screen.close();
    await session.close();
    if (lost > 0) context.say(`doorward: ${lost} of your messages may not have been delivered\n`);
    if (isForced) return exitCodes.interrupted;
    return exitCodeOf(status.last(), status.wasOpen(), lost);
  } finally {
    status.stop();
    screen.close();
    context.stdin.destroy();
  }
}

/** Shows what the server sends. */
function createHandlers(
  screen: Screen,
  stopper: Stopper,
  status: ReturnType<typeof createStatusLine>,
  questions: ChatQuestions,
  silenceMs: number,
): Pick<SessionOptions, "handlers" | "onReply"> {
  return {
    onReply(message) {
      screen.updateReply(message.id, undefined);
      if (questions.has(message.id)) return;
      screen.print(replyText(message));
      stopper.replied(message.inReplyTo);
    },
    handlers: {
      onEnd: stopper.ended,
      onQuestion: questions.changed,
      onUpdate({ id, kind, content, toolCalls, attachments, final, assumed, requestId }) {
        questions.learn(toolCalls);
        if (kind === "notice" && final) screen.note(sanitizeLine(content));
        if (kind !== "text") return;
        status.typing(false);
        if (!final && !questions.has(id))
          screen.updateReply(id, replyText({ content, media: attachments.map(toMedia) }));
        if (!final && requestId !== undefined) stopper.started(requestId);
        if (assumed) screen.note(assumedSentence(silenceMs));
      },
      onRemoved: ({ id }) => screen.updateReply(id, undefined),
      onTyping: ({ on }) => status.typing(on),
      onState: status.changed,
    },
  };
}

/** Sends typed lines and counts those that are not delivered yet. */
function createOutbox(opened: Promise<ClientSession>, stopper: Stopper) {
  const pending = new Set<Promise<unknown>>();
  return {
    async send(content: string): Promise<void> {
      const id = randomUUID();
      stopper.started(id);
      const sent = opened
        .then(({ link }) => link.send({ content, id }))
        .catch((error: unknown) => stopper.failed(id, error));
      pending.add(sent);
      await sent;
      pending.delete(sent);
    },
    async drain(): Promise<void> {
      const timeout = new Promise<void>((resolve) => setTimeout(resolve, drainTimeoutMs).unref());
      await Promise.race([Promise.all(pending), timeout]);
    },
    pending: () => pending.size,
  };
}

/** A start may wait indefinitely, for example for a token from a pipe. Until it ends, SIGINT has
 *  its default effect and ends the process. */
async function exitDuringStart(
  opening: Promise<ClientSession>,
  closeScreen: () => void,
): Promise<number> {
  closeScreen();
  process.kill(process.pid, "SIGINT");
  await (await opening).close();
  return exitCodes.done;
}

/** @returns The exit code for the last state that the user saw. */
function exitCodeOf(last: ChatStateChange | undefined, wasOpen: boolean, lost: number): number {
  const status = last && exitStatusOf(last, wasOpen);
  if (status && status.exit !== exitCodes.done) return status.exit;
  if (!wasOpen && last?.to === "waiting") return exitCodes.unreachable;
  return lost > 0 ? exitCodes.failed : exitCodes.done;
}

/** Shows the state of the link: permanent notes, and a line that counts down to the next
 *  attempt. */
function createStatusLine(screen: Screen) {
  let timer: NodeJS.Timeout | undefined;
  let wasOpen = false;
  let last: ChatStateChange | undefined;

  function countDown(text: string, until: number): void {
    const show = (): void =>
      screen.status(`${text} in ${Math.max(1, Math.ceil((until - Date.now()) / 1_000))} s …`);
    timer = setInterval(show, 1_000).unref();
    show();
  }
  return {
    last: () => last,
    wasOpen: () => wasOpen,
    typing(isTyping: boolean): void {
      if (last?.to === "open") screen.status(isTyping ? "the server is typing …" : undefined);
    },
    changed(change: ChatStateChange): void {
      const { to, retryInMs = 0 } = change;
      last = change;
      clearInterval(timer);
      if (to === "open") {
        screen.status(undefined);
        screen.note(wasOpen ? "connected again" : "connected; press Ctrl+D to leave");
        wasOpen = true;
      } else if (to === "connecting") screen.status("connecting …");
      else if (to === "waiting")
        countDown(`${linkAdvice(change)}; reconnecting`, Date.now() + retryInMs);
      else if (to === "blocked") {
        screen.note(sanitizeLine(linkAdvice(change)));
        countDown("trying again", Date.now() + retryInMs);
      } else if (to === "closed")
        screen.note(`the server closed the connection (${sanitizeLine(change.reason)})`);
    },
    stop: () => clearInterval(timer),
  };
}
