import type { LinkChange } from "../../lib/pico-link/index.ts";
import { exitCodes, type CommandContext } from "../commands/command.ts";
import { exitStatusOf, interrupted, linkAdvice } from "./exit-status.ts";
import { assumedSentence } from "./incomplete.ts";
import { replyText, sanitize, sanitizeLine } from "./text.ts";
import {
  errorReason,
  openClientSession,
  type ClientArguments,
  type ClientSession,
} from "./session.ts";
import { createScreen } from "./screen.ts";

/** What is on its way when a person leaves gets this long. */
const drainTimeoutMs = 2_000;

/** A conversation at a terminal. A dead or refusing other end does not end it: the person sees why, and waits or
 *  leaves. */
export async function chat(context: CommandContext, given: ClientArguments): Promise<number> {
  let leave: () => void;
  const left = new Promise<undefined>((resolve) => {
    leave = () => resolve(undefined);
  });
  const screen = createScreen({
    input: context.stdin,
    output: process.stdout,
    onEnd: () => leave(),
    onLine: (text) => void send(text),
  });
  const news = createStatusLine(screen.note, screen.status);
  const open = new Set<Promise<unknown>>();
  let last: LinkChange | undefined;
  let isTold = false;
  let begin: (session: ClientSession) => void;
  /** Who types ahead loses nothing. */
  const begun = new Promise<ClientSession>((resolve) => {
    begin = resolve;
  });

  async function send(content: string): Promise<void> {
    const sent = begun
      .then(({ link }) => link.send({ content }))
      .catch((error: unknown) => {
        screen.note(`not delivered: ${sanitizeLine(errorReason(error).message)}`);
      });
    open.add(sent);
    await sent;
    open.delete(sent);
  }

  screen.status("connecting …");
  try {
    const opening = openClientSession(context, {
      ...given,
      notice: screen.note,
      answer(message) {
        screen.grow(message.id, undefined);
        screen.say(replyText(message));
      },
      hear: {
        onUpdate({ id, content, final, assumed }) {
          news.typing(false);
          if (!final) screen.grow(id, sanitize(content));
          if (assumed) screen.note(assumedSentence(given.silenceMs));
        },
        onRemoved: (id) => screen.grow(id, undefined),
        onTyping: news.typing,
        onState(change) {
          last = change;
          isTold ||= change.to === "open";
          news.changed(change);
        },
      },
    });
    const session = await Promise.race([opening, left]);
    if (!session) return await exitDuringStart(opening, screen.close);
    begin!(session);
    // Only what leaves nothing to wait for ends it.
    const stopped = session.ended.then((fate) =>
      fate === interrupted || last?.to === "stopped" ? undefined : left,
    );
    await Promise.race([left, stopped]);
    const farewell = new Promise<void>((resolve) => setTimeout(resolve, drainTimeoutMs).unref());
    if (last?.to === "open") await Promise.race([Promise.all(open), farewell]);
    const lost = open.size;
    news.end();
    screen.close();
    await session.close();
    if (lost > 0) context.say(`doorward: ${lost} of your messages may not have arrived\n`);
    return exitCodeOf(last, isTold, lost);
  } finally {
    news.end();
    screen.close();
    context.stdin.destroy();
  }
}

/** Nobody waits for a start that may wait for ever, as that for a token from a pipe: until it is over the signal has
 *  its usual effect. */
async function exitDuringStart(
  opening: Promise<ClientSession>,
  close: () => void,
): Promise<number> {
  close();
  process.kill(process.pid, "SIGINT");
  await (await opening).close();
  return exitCodes.done;
}

/** Of what the person saw last. */
function exitCodeOf(last: LinkChange | undefined, wasOpen: boolean, lost: number): number {
  const fate = last && exitStatusOf(last, wasOpen);
  if (fate && fate.exit !== exitCodes.done) return fate.exit;
  if (!wasOpen && last?.to === "waiting") return exitCodes.unreachable;
  return lost > 0 ? exitCodes.failed : exitCodes.done;
}

type ShowText = (text: string) => void;

/** How the link fares, in words: what stays, and a line that counts down. */
function createStatusLine(note: ShowText, status: (text: string | undefined) => void) {
  let timer: NodeJS.Timeout | undefined;
  let wasOpen = false;
  let isOpen = false;

  function countDown(words: string, until: number): void {
    const show = (): void =>
      status(`${words} in ${Math.max(1, Math.ceil((until - Date.now()) / 1_000))} s …`);
    timer = setInterval(show, 1_000).unref();
    show();
  }
  return {
    typing(on: boolean): void {
      if (isOpen) status(on ? "the other end is typing …" : undefined);
    },
    changed(change: LinkChange): void {
      const { to, retryInMs = 0 } = change;
      clearInterval(timer);
      isOpen = to === "open";
      if (isOpen) {
        status(undefined);
        note(wasOpen ? "connected again" : "connected; Ctrl+D ends");
        wasOpen = true;
      } else if (to === "connecting") status("connecting …");
      else if (to === "waiting")
        countDown(`${linkAdvice(change)}; reconnecting`, Date.now() + retryInMs);
      else if (to === "blocked") {
        note(sanitizeLine(linkAdvice(change)));
        countDown("trying again", Date.now() + retryInMs);
      } else if (to === "stopped")
        note(`the other end ended the connection (${sanitizeLine(change.reason)})`);
    },
    end: () => clearInterval(timer),
  };
}
