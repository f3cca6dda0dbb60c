// Rules about questions of the application. Peers with `press` answer them with buttons.
import type { QuestionOption, QuestionResult } from "../../plugins/channels/index.ts";
import type { ConformanceRun, Peer } from "../rig.ts";
import { withTimeout } from "../client.ts";
import { claim, mayReject, says, send, to, type ConformanceRule } from "./rule.ts";

const allow = { id: "yes", label: "Allow once", effect: "allow" } satisfies QuestionOption;
export const deny = { id: "no", label: "Deny", effect: "deny" } satisfies QuestionOption;
/** Time for the channel to answer a question that it must not answer. */
const settleMs = 50;

interface Card {
  /** The id that the peer sees. */
  readonly id: string;
  /** The id of the question. */
  readonly question: string;
  readonly result: Promise<QuestionResult>;
}

/** Asks a question, and waits until the peer sees its text. */
export async function ask(run: ConformanceRun, peer: Peer, content: string): Promise<Card> {
  const before = new Set(run.channels.questions(to(run, peer)).map(({ id }) => id));
  const result = run.channels.ask(to(run, peer), {
    kind: "approval",
    content,
    options: [allow, deny],
  });
  result.catch(() => undefined);
  const shown = run.sees(peer, "create").then((seen) => {
    claim(seen.content.includes(content), `a question was shown as ${JSON.stringify(seen)}`);
    return seen;
  });
  const { id } = await Promise.race([shown, result.then(() => shown)]);
  const open = run.channels.questions(to(run, peer)).find((each) => !before.has(each.id));
  claim(open !== undefined, "a question was settled before anyone answered it");
  return { id, question: open.id, result };
}

/** Denies as the owner does in the dashboard. */
export const denies = (run: ConformanceRun, peer: Peer, { question }: Card) =>
  run.channels.answer(to(run, peer), question, { option: deny.id }, undefined, "dashboard");

/** Presses a button. A press that does not count may reject. */
export const presses = (peer: Peer, card: Card, option: QuestionOption): Promise<void> =>
  mayReject(() => peer.press?.(card.id, option));

/** Waits until a question is settled by a press. */
async function settled(run: ConformanceRun, { result }: Card): Promise<QuestionResult> {
  const settlement = await withTimeout(run.timeoutMs, "the answer of a question", result);
  const { outcome } = settlement;
  claim(outcome === "answered", `after a press the question was "${outcome}"`);
  return settlement;
}

/** @returns Whether a question is open after the channel has had time for a press. */
async function staysOpen(run: ConformanceRun, peer: Peer, { result }: Card) {
  await says(run, peer, "a message after the press"); // The channel reads in order.
  const open = new Promise<true>((resolve) => void setTimeout(() => resolve(true), settleMs));
  return Promise.race([result.then(() => false), open]);
}

/** Reads until a message that is sent now. @returns The texts of the updates before it. */
async function updatesOf(run: ConformanceRun, peer: Peer, card: Card): Promise<string[]> {
  await send(run, peer, "after the question");
  const updates: string[] = [];
  for (;;) {
    const seen = await run.sees(peer, "create", "update");
    if (seen.what === "create" && seen.content === "after the question") return updates;
    if (seen.what === "update" && seen.id === card.id) updates.push(seen.content);
  }
}

export const questionRules = {
  async "shows a question, and its answer"(run) {
    if (!run.port.update) return; // Nothing can be asked there.
    const peer = await run.join();
    const card = await ask(run, peer, "Delete the file?");
    await denies(run, peer, card);
    const { effect } = await card.result;
    claim(effect === "deny", `the question was settled with the effect "${effect}"`);
    const updates = await updatesOf(run, peer, card);
    const isShown = updates.some((text) => text.includes(deny.label));
    claim(isShown, "the peer did not see the answer in an update of the question");
  },

  async "settles a question once, with the button that was pressed first"(run) {
    const peer = await run.join();
    if (!run.port.update || !peer.press) return;
    for (const [first, second] of [
      [deny, allow],
      [allow, deny],
    ] as const) {
      const card = await ask(run, peer, `Delete the file, ${first.label}?`);
      await Promise.all([first, first, second].map((option) => presses(peer, card, option)));
      const { effect } = await settled(run, card);
      claim(effect === first.effect, `"${first.label}" was pressed first, but it did "${effect}"`);
      const updates = await updatesOf(run, peer, card);
      claim(new Set(updates).size <= 1, "the peer saw two different answers of one question");
    }
  },

  async "answers a question from its own buttons only"(run) {
    const peer = await run.join();
    if (!run.port.update || !peer.press) return;
    const old = await ask(run, peer, "An old question?");
    await denies(run, peer, old);
    await old.result;
    const card = await ask(run, peer, "A new question?");
    await presses(peer, old, allow);
    claim(
      await staysOpen(run, peer, card),
      "a button of a settled question answered another question",
    );
    const other = await run.join();
    await presses(other, card, allow);
    claim(await staysOpen(run, other, card), "a client answered a question of another session");
    await presses(peer, card, deny);
    await settled(run, card);
  },

  async "never allows what an expired question asked"(run) {
    const peer = await run.join();
    if (!run.port.update || !peer.press) return;
    const result = run.channels.ask(to(run, peer), {
      kind: "approval",
      content: "Quick?",
      options: [allow, deny],
      timeoutMs: 1,
    });
    const { id } = await run.sees(peer, "create");
    const { effect } = await result;
    claim(effect !== "allow", "an expired question allowed what it asked");
    const card = await ask(run, peer, "The next question?");
    await presses(peer, { ...card, id }, allow);
    claim(
      await staysOpen(run, peer, card),
      "a button of an expired question answered another question",
    );
  },
} satisfies Record<string, ConformanceRule>;
