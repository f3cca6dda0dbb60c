/** One question of the application, as a form that works without a script. @module */
import type { JSX } from "preact";
import { readWebAddress } from "../../shared/question-fields.ts";
import type { QuestionView } from "../../shared/question-views.ts";
import { settlementText } from "../../shared/question-labels.ts";
import { visibleText } from "../../shared/visible-text.ts";
import { readToolCall } from "../chat/tool-calls.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Empty, Notice, PageHead } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { Choices, Fields, TextField, type FormState } from "./fields.tsx";

/** The question, and what became of an answer to it. */
export interface AskData extends FormState {
  /** Absent if the session has no such question. */
  readonly view?: QuestionView;
  /** The tool call that the question is about, in the form of the program. */
  readonly call?: unknown;
  /** Path of the page: the form is sent there. */
  readonly path: string;
  /** The last answer came too late. */
  readonly isLate?: boolean;
}

export function AskPage({ data }: { readonly data: AskData }): JSX.Element {
  const { view, problem, isLate, call } = data;
  if (!view)
    return (
      <div class="page-in">
        <PageHead title="Question" />
        <Empty icon="search" title="No such question">
          It may be from before a restart, or from another conversation.
        </Empty>
      </div>
    );
  const { question, content } = view;
  const { settled } = question;
  return (
    <div class="page-in ask">
      <PageHead title={visibleText(question.title ?? "Question")} />
      {isLate && settled && <Notice tone="warn">Another answer came first.</Notice>}
      {problem !== undefined && (
        <div role="alert">
          <Notice tone="bad">{summaryOf(problem, question)}</Notice>
        </div>
      )}
      <section class="card stack">
        {question.toolCallId !== undefined && <Arguments call={call} />}
        <p class="asked" dir="auto">
          {visibleText(content)}
        </p>
        {settled ? (
          <p dir="auto">{visibleText(settlementText(question, settled))}</p>
        ) : (
          <Answer data={data} view={view} />
        )}
      </section>
    </div>
  );
}

/** The label of the field and its problem; the field shows the problem as well. */
function summaryOf(
  { field, text }: NonNullable<FormState["problem"]>,
  { schema }: QuestionView["question"],
): string {
  const name = field.replace(/^values\./, "");
  const property = Object.entries(schema?.properties ?? {}).find(([key]) => key === name)?.[1];
  return property ? `${visibleText(property.title ?? name)}: ${text}` : text;
}

/** Precedes the words of the model, which may differ from the call that runs. */
function Arguments({ call }: Pick<AskData, "call">): JSX.Element {
  if (call === undefined)
    return (
      <Notice tone="warn">The conversation does not have the arguments of the tool call.</Notice>
    );
  const { name, input, isCut } = readToolCall(call);
  return (
    <>
      <figure class="arguments">
        <figcaption>
          Arguments of <code>{visibleText(name)}</code>
        </figcaption>
        <pre dir="ltr" tabIndex={0} role="group" aria-label="Arguments">
          {visibleText(input ?? "No arguments")}
        </pre>
      </figure>
      {isCut === true && <Notice tone="warn">The arguments are longer than shown here.</Notice>}
    </>
  );
}

interface AnswerProps {
  readonly data: AskData;
  readonly view: QuestionView;
}

function Answer({ data, view: { question } }: AnswerProps): JSX.Element {
  const { url, csrf } = useSite();
  const { kind } = question;
  const hasButtons = kind === "approval" || kind === "link";
  return (
    <form class="stack" method="post" action={url(data.path)}>
      <input type="hidden" name="csrf" value={csrf} />
      {/* Enter presses the first button of a form, and must never allow. */}
      {hasButtons && <button type="submit" disabled hidden />}
      {kind === "form" && <Fields {...data} question={question} />}
      {kind === "choice" && <Choices {...data} question={question} />}
      {kind === "link" && question.url !== undefined && <Address text={question.url} />}
      {(kind === "approval" || question.other === true) && (
        <TextField {...data} label={kind === "approval" ? "Reason (optional)" : "Another answer"} />
      )}
      {hasButtons && <OptionButtons options={question.options} />}
      <div class="row wrap">
        {!hasButtons && (
          <Button type="submit" kind="primary">
            Send the answer
          </Button>
        )}
        {kind !== "approval" && (
          <Button type="submit" name="dismiss" value="1" formNoValidate>
            Dismiss
          </Button>
        )}
      </div>
    </form>
  );
}

type Options = NonNullable<QuestionView["question"]["options"]>;

/** Lasting options stand apart, so that no one picks them in passing. */
function OptionButtons({ options = [] }: { readonly options?: Options | undefined }): JSX.Element {
  const lasting = options.filter((option) => option.lasting === true);
  return (
    <>
      <OptionRow options={options.filter((option) => option.lasting !== true)} />
      {lasting.length > 0 && (
        <details class="more">
          <summary>Lasting answers</summary>
          <OptionRow options={lasting} />
        </details>
      )}
    </>
  );
}

function OptionRow({ options }: { readonly options: Options }): JSX.Element {
  return (
    <div class="row wrap options">
      {options.map(({ id, label, effect, description, lasting }) => (
        <span key={id} class="option">
          <Button
            type="submit"
            name="option"
            value={id}
            kind={effect === "allow" && lasting !== true ? "primary" : "plain"}
          >
            <span dir="auto">{visibleText(label)}</span>
          </Button>
          {description !== undefined && <small dir="auto">{visibleText(description)}</small>}
        </span>
      ))}
    </div>
  );
}

/** The address is text until it is clicked, and shows its host. */
function Address({ text }: { readonly text: string }): JSX.Element {
  const address = readWebAddress(text);
  return (
    <>
      <p class="asked" dir="ltr">
        <code>{visibleText(text)}</code>
      </p>
      {address?.isForeign === true && (
        <Notice tone="warn">The name has letters that may look like others. Check it.</Notice>
      )}
      {address ? (
        <p>
          <LinkButton href={address.url.href} target="_blank" rel="noopener noreferrer">
            Open {address.url.host}
          </LinkButton>
        </p>
      ) : (
        <Notice tone="warn">This is not a web address, so it does not open here.</Notice>
      )}
    </>
  );
}
