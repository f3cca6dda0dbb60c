// Questions in an interactive conversation: a number chooses an option.
import type { ChatQuestion } from "../../lib/pico-link/index.ts";
import { defined } from "../../lib/util.ts";
import type { PicoLink } from "../../plugins/pico-client/index.ts";
import { settledLine, ShownQuestions } from "./question-text.ts";
import { errorReason } from "./session.ts";
import { sanitizeLine } from "./text.ts";

interface NumberedOption {
  readonly question: string;
  readonly option: string;
}

/**
 * `/1` chooses the option with the number 1. A number belongs to one question. A line with a space
 * in front is a message.
 */
const choiceForm = /^\/(\d{1,9})(?:\s+(.+))?$/;

/** Numbers the options of all questions, and sends the answers that a person types. */
export class ChatQuestions extends ShownQuestions {
  private readonly numbered: NumberedOption[] = [];
  private readonly link: () => Pick<PicoLink, "answer"> | undefined;

  constructor(note: (text: string) => void, link: () => Pick<PicoLink, "answer"> | undefined) {
    super(note);
    this.link = link;
  }

  protected override numberOf({ id, options = [] }: ChatQuestion): number {
    const first = this.numbered.length + 1;
    for (const option of options) this.numbered.push({ question: id, option: option.id });
    return first;
  }

  /** @returns False if the line has not the form of a choice, so that it is a message. */
  choose(line: string): boolean {
    const [, number, text] = choiceForm.exec(line.trimEnd()) ?? [];
    if (number === undefined) return false;
    const chosen = this.numbered[Number(number) - 1];
    if (chosen) void this.answer(chosen, text);
    else this.write(this.refusal(number));
    return true;
  }

  private refusal(number: string): string {
    const count = this.numbered.length;
    const known =
      count === 0
        ? "no question was asked"
        : `the options are ${count === 1 ? "/1" : `/1 to /${count}`}`;
    return `not sent: no option has the number ${number}, ${known} (a space in front sends it)`;
  }

  private async answer({ question, option }: NumberedOption, text?: string): Promise<void> {
    const note = this.write;
    try {
      const result = await this.link()?.answer(question, defined({ option, text }));
      if (!result) return note("not sent: there is no connection");
      if (result.status === "already")
        return note(`another answer came first: ${settledLine(result.settled)}`);
      if (result.status !== "settled") note(sanitizeLine(result.problem ?? result.status));
    } catch (error) {
      note(`not sent: ${sanitizeLine(errorReason(error).message)}`);
    }
  }
}
