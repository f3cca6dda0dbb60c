// `doorward questions` and `doorward answer`: the questions of the application.
import { formatUtc } from "../../lib/util.ts";
import type { AnsweredView, QuestionsView, QuestionView } from "../../plugins/dashboard/index.ts";
import { formFields, questionLines, settledLine } from "../client/question-text.ts";
import { sanitizeLine } from "../client/text.ts";
import { UsageError, exitCodes, printJson, type CommandContext } from "./command.ts";
import { askAndPrint, askAndUse, askLauncher, reportNotRunning } from "./control-client.ts";

export async function questions(context: CommandContext): Promise<number> {
  if (context.words.length > 0) throw new UsageError('"questions" takes only options');
  return askAndPrint<QuestionsView>(context, ["GET", "questions"], (body) => {
    for (const { id, session, content, at, question, call } of body.questions) {
      context.out(`${formatUtc(at)}  ${sanitizeLine(session)}\n`);
      const lines = questionLines({ id, content, ...question }, undefined, call);
      // The last line is the command that answers.
      for (const line of lines.slice(0, -1)) context.out(`  ${line}\n`);
      context.out(`  ${context.hinted(lines.at(-1)!)}\n`);
    }
    if (body.questions.length === 0) context.say("no question waits for an answer\n");
  });
}

/** Reads the value of a form field as its type says. */
function toValue(text: string, type: unknown): unknown {
  if (type === "number" || type === "integer") return text.trim() === "" ? text : Number(text);
  if (type === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (type === "array") return text === "" ? [] : text.split(",");
  return text;
}

function toValues(pairs: readonly string[], schema: unknown): Record<string, unknown> {
  const types = formFields(schema);
  const seen = new Set<string>();
  const values = pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError('"-set" takes NAME=VALUE');
    const name = pair.slice(0, at);
    if (seen.has(name)) throw new UsageError(`"-set ${name}" appears twice`);
    seen.add(name);
    return [name, toValue(pair.slice(at + 1), types.get(name))] as const;
  });
  return Object.fromEntries(values);
}

/** Several options are one text: `a,b`. */
function optionFields(option: string | undefined, question: QuestionView | undefined): object {
  if (option === undefined) return {};
  return question?.question.multiple ? { options: option.split(",") } : { option };
}

export async function answer(context: CommandContext): Promise<number> {
  const [id = "", option, ...more] = context.words;
  const { text, set, dismiss, session } = context.values;
  const pairs = (Array.isArray(set) ? set : []).map(String);
  const hasAnswer = option !== undefined || pairs.length > 0 || text !== undefined || dismiss;
  if (!/^[\w-]{1,64}$/.test(id) || more.length > 0 || !hasAnswer)
    throw new UsageError(
      '"answer" takes the ID of a question and an OPTION, -text, -set or -dismiss',
    );
  const list = await askLauncher<QuestionsView>(context, "GET", "questions");
  if (!list) return reportNotRunning(context);
  const open = list.status === 200 ? list.body.questions : [];
  const question = open.find((each) => each.id === id);
  const body = {
    ...(typeof session === "string" && { session }),
    ...optionFields(option, question),
    ...(pairs.length > 0 && { values: toValues(pairs, question?.question.schema) }),
    ...(typeof text === "string" && { text }),
    ...(dismiss === true && { dismiss }),
  };
  return askAndUse<AnsweredView>(context, ["POST", `questions/${id}`, body], (answered) =>
    report(context, answered, question),
  );
}

const exits: Readonly<Record<AnsweredView["status"], number>> = {
  settled: exitCodes.done,
  already: exitCodes.refused,
  unknown: exitCodes.refused,
  invalid: exitCodes.failed,
};

function report(
  context: CommandContext,
  answered: AnsweredView,
  question: QuestionView | undefined,
): number {
  const { status, settled, message = "" } = answered;
  if (context.json) printJson(context, answered);
  else if (settled) {
    const late = status === "already" ? "another answer came first: " : "";
    context.say(`${late}${settledLine(settled, question?.question.options)}\n`);
  } else context.say(`doorward: ${sanitizeLine(message)}\n`);
  return exits[status];
}
