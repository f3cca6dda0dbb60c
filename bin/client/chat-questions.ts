// Questions of the application in an interactive conversation: each option has a number.
import type { ChatQuestion } from "../../lib/pico-link/index.ts";
import type { PicoLink } from "../../plugins/pico-client/index.ts";
import { questionLines, settledLine } from "./question-text.ts";
import { errorReason } from "./session.ts";
import { sanitizeLine } from "./text.ts";

interface NumberedOption {
  readonly question: string;
  readonly option: string;
}

interface ChatQuestionsOptions {
  readonly note: (text: string) => void;
  readonly link: () => PicoLink | undefined;
}

/** `/1` chooses the option with the number 1. A number belongs to one question. */
const choiceForm = /^\/(\d{1,4})(?:\s+(.+))?$/;

export class ChatQuestions {
  private readonly options: ChatQuestionsOptions;
  private readonly numbered: NumberedOption[] = [];
  /** Questions that were shown while they were open. */
  private readonly shown = new Map<string, ChatQuestion>();

  constructor(options: ChatQuestionsOptions) {
    this.options = options;
  }

  /** True if the message with this id is a question: its text was shown. */
  has(id: string): boolean {
    return this.shown.has(id);
  }

  /** Shows a question, or how it was settled. */
  readonly changed = (question: ChatQuestion): void => {
    const { id, state, settled, options = [] } = question;
    const { note } = this.options;
    const before = this.shown.get(id);
    if (before && state === "settled") return note(settledLine(settled, before.options));
    if (before || state === "settled") return;
    this.shown.set(id, question);
    const first = this.numbered.length + 1;
    for (const option of options) this.numbered.push({ question: id, option: option.id });
    for (const line of questionLines(question, first)) note(line);
  };

  /** @returns False if the line chooses no option, so that it is a message. */
  choose(line: string): boolean {
    const [, number, text] = choiceForm.exec(line.trim()) ?? [];
    const chosen = this.numbered[Number(number) - 1];
    if (!chosen) return false;
    void this.answer(chosen, text);
    return true;
  }

  private async answer({ question, option }: NumberedOption, text?: string): Promise<void> {
    const { note, link } = this.options;
    try {
      const given = { option, ...(text !== undefined && { text }) };
      const result = await link()?.answer(question, given);
      if (!result) return note("not sent: there is no connection");
      if (result.status === "already")
        return note(`another answer came first: ${settledLine(result.settled)}`);
      if (result.status !== "settled") note(sanitizeLine(result.problem ?? result.status));
    } catch (error) {
      note(`not sent: ${sanitizeLine(errorReason(error).message)}`);
    }
  }
}
