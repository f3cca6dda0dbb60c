/** One question of the application, as a form that works without a script. @module */
import type { JSX } from "preact";
import type { QuestionView } from "../../shared/question-views.ts";
import {
  lateText,
  lookOfOption,
  settlementText,
  unfinishedTexts,
} from "../../shared/question-labels.ts";
import { visibleText } from "../../shared/visible-text.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Empty, Notice, PageHead } from "../parts/states.tsx";
import { Choices, Fields, TextField, type FormState } from "../questions/fields.tsx";
import { FormValues } from "../questions/form-values.tsx";
import { QuestionText } from "../questions/question-text.tsx";
import { ToolArguments } from "../questions/tool-arguments.tsx";
import { AddressText, OpenButton } from "../questions/web-address.tsx";
import { useSite } from "../site.tsx";

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
      {isLate && settled && <Notice tone="warn">{lateText(settled)}</Notice>}
      {problem !== undefined && (
        <div role="alert">
          <Notice tone="bad">{summaryOf(problem, question)}</Notice>
        </div>
      )}
      <section class="card stack">
        {question.toolCallId !== undefined && <ToolArguments call={call} />}
        <QuestionText text={content} />
        {settled ? (
          <>
            <p dir="auto">{visibleText(settlementText(question, settled))}</p>
            <FormValues question={question} />
            {view.unfinished && <p>{unfinishedTexts[view.unfinished]}</p>}
            <ToConversation view={view} />
          </>
        ) : (
          <>
            <Answer data={data} view={view} />
            <ToConversation view={view} />
          </>
        )}
      </section>
    </div>
  );
}

/** Conversations of other channels have an address that this page does not know. */
function ToConversation({ view }: { readonly view: QuestionView }): JSX.Element | null {
  const { url } = useSite();
  if (view.channel !== "pico") return null;
  return (
    <p>
      <LinkButton icon="message-square" href={url(`/chat/${encodeURIComponent(view.session)}`)}>
        Open the conversation
      </LinkButton>
    </p>
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

function Answer({ data, view: { question } }: { data: AskData; view: QuestionView }): JSX.Element {
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
      {kind === "link" && question.url !== undefined && (
        <>
          <AddressText text={question.url} />
          <p>
            <OpenButton text={question.url} />
          </p>
          <p class="muted small">Opening the address does not answer the question.</p>
        </>
      )}
      {(kind === "approval" || question.other === true) && (
        <TextField
          {...data}
          label={kind === "approval" ? "Reason (optional)" : "Another answer instead"}
        />
      )}
      {hasButtons ? (
        <OptionButtons options={question.options} />
      ) : (
        <div class="row wrap">
          <Button type="submit" kind="primary">
            Send the answer
          </Button>
          <Button type="submit" name="dismiss" value="1" formNoValidate>
            Dismiss
          </Button>
        </div>
      )}
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
      {options.map(({ id, description, lasting, ...option }) => {
        const { text, mayLead, ...look } = lookOfOption(option);
        return (
          <span key={id} class="option">
            <Button
              type="submit"
              name="option"
              value={id}
              {...look}
              kind={mayLead && lasting !== true ? "primary" : "plain"}
            >
              <span dir="auto">{visibleText(text)}</span>
            </Button>
            {description !== undefined && <small dir="auto">{visibleText(description)}</small>}
          </span>
        );
      })}
    </div>
  );
}
