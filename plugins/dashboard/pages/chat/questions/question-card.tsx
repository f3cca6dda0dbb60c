/** A question of the application as a card. Loaded when one is shown. @module */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { hasId } from "../../../shared/question-fields.ts";
import { lateText, shortSettlementText, unfinishedTexts } from "../../../shared/question-labels.ts";
import type { QuestionAnswer } from "../../../shared/question-views.ts";
import { visibleText } from "../../../shared/visible-text.ts";
import { serverNow } from "../../live/clock.ts";
import { Button } from "../../parts/button.tsx";
import { Icon } from "../../parts/icon.tsx";
import { Ago } from "../../parts/time.tsx";
import { FormValues } from "../../questions/form-values.tsx";
import { QuestionText } from "../../questions/question-text.tsx";
import { ToolArguments } from "../../questions/tool-arguments.tsx";
import type { Answer } from "../state/groups.ts";
import type { ShownConversation } from "../state/store.ts";
import { canEdit, isLeft, userKey, type AppMessage, type AskedQuestion } from "../state/thread.ts";
import { useSight } from "./out-of-sight.tsx";
import {
  Approval,
  ChoiceForm,
  LinkAnswer,
  sendAnswer,
  ValuesForm,
  type AnswerProps,
  type Sent,
} from "./answers.tsx";

/** @returns The tool call with this id in the steps of an answer. */
const callIn = ({ segments }: Answer, id: string): unknown =>
  segments
    .flatMap((segment) => (segment.kind === "steps" ? segment.steps : []))
    .flatMap(({ message }) => message.calls)
    .findLast((call) => hasId(call, id));

/** The message of a question, in its answer. */
interface CardProps {
  readonly answer: Answer;
  readonly message: AppMessage;
  readonly context: ShownConversation;
}

/** Open: the question with its buttons. Settled: one line, which opens. */
export function QuestionCard({ answer, message, context }: CardProps): JSX.Element {
  const { asked, at } = message;
  const { isSending, sent, send } = useAnswer(asked!.id, context);
  const heading = useId();
  const box = useRef<HTMLDivElement>(null);
  const { settled, title, toolCallId } = asked!;
  useSight(box, asked!.state === "open");
  useEffect(() => {
    // The button that had the focus is gone: the keyboard stays at the card.
    if (settled && sent && document.activeElement === document.body)
      box.current?.focus({ preventScroll: true });
  }, [settled, sent]);
  const texts = (
    <>
      {toolCallId !== undefined && <ToolArguments call={callIn(answer, toolCallId)} />}
      <QuestionText text={asked!.content} />
    </>
  );
  const isLate = sent?.state === "late";
  if (asked!.state === "settled")
    return (
      <div class="question settled small stack" ref={box} tabIndex={-1}>
        {isLate && settled && <p class="muted">{lateText(settled)}</p>}
        <Folded asked={asked!} at={at}>
          {texts}
          <FormValues question={asked!} />
        </Folded>
        <Aftermath {...{ answer, context }} asked={asked!} />
        <Status text="" />
      </div>
    );
  return (
    <div
      class="question stack"
      role="group"
      aria-labelledby={heading}
      ref={box}
      tabIndex={-1}
      data-open-question
    >
      <header class="row">
        <Icon name={icons[asked!.kind]} />
        <div class="grow">
          <h2 id={heading} dir="auto">
            {visibleText(title ?? titles[asked!.kind])}
          </h2>
          <p class="muted xs">
            Waiting for you, asked <Ago at={at} now={serverNow()} />
          </p>
        </div>
      </header>
      {texts}
      <AnswerPart {...{ asked: asked!, isSending, send }} />
      <Status text={sent?.state === "failed" ? sent.problem : ""} />
    </div>
  );
}

const icons = {
  approval: "shield-check",
  choice: "list-filter",
  form: "file-text",
  link: "external-link",
} as const;
const titles = {
  approval: "Allow this?",
  choice: "Choose",
  form: "Enter the values",
  link: "Open this address?",
} as const;

function AnswerPart(props: AnswerProps): JSX.Element {
  switch (props.asked.kind) {
    case "approval":
      return <Approval {...props} />;
    case "choice":
      return <ChoiceForm {...props} />;
    case "form":
      return <ValuesForm {...props} />;
    case "link":
      return <LinkAnswer {...props} />;
  }
}

/** Stays in the page, so that a new text is announced. */
const Status = ({ text }: { readonly text: string }): JSX.Element => (
  <p class="problem" role="status" aria-live="polite" hidden={text === ""}>
    {text}
  </p>
);

/** A second click while an answer is under way sends nothing. */
function useAnswer(id: string, context: ShownConversation) {
  const [sent, setSent] = useState<Sent>();
  const [isSending, setSending] = useState(false);
  const isBusy = useRef(false);
  const send = async (answer: QuestionAnswer): Promise<void> => {
    if (isBusy.current) return;
    isBusy.current = true;
    setSending(true);
    const result = await sendAnswer(context, id, answer);
    setSent(result);
    // A settled question keeps its buttons off until the settlement is drawn.
    if (result.state !== "failed") return;
    isBusy.current = false;
    setSending(false);
  };
  return { sent, isSending, send: (answer: QuestionAnswer) => void send(answer) };
}

interface AftermathProps extends Pick<CardProps, "answer" | "context"> {
  readonly asked: AskedQuestion;
}

/** Says if nothing followed the answer, and sends the message again. */
function Aftermath({ answer, context, asked }: AftermathProps): JSX.Element | null {
  const { conversation } = context;
  const { question, state } = answer;
  const { unfinished } = asked;
  const key = userKey(`answer:${asked.id}`);
  const isTaken =
    unfinished === "waiting" && conversation.thread.value.messages.some((one) => one.key === key);
  const text = unfinished && !isTaken ? unfinishedTexts[unfinished] : undefined;
  const isOver = isLeft(asked) && state !== "working" && !conversation.isReadOnly;
  const again = isOver && question && canEdit(question) ? question : undefined;
  if (text === undefined && !again) return null;
  return (
    <div class="row wrap aftermath">
      {text !== undefined && <p class="grow">{text}</p>}
      {again && (
        <Button icon="rotate-ccw" onClick={() => conversation.replace(again)}>
          Send again
        </Button>
      )}
    </div>
  );
}

interface FoldedProps {
  readonly asked: AskedQuestion;
  readonly at: number;
  readonly children: ComponentChildren;
}

function Folded({ asked, at, children }: FoldedProps): JSX.Element {
  const { settled, options, title } = asked;
  const effect = options?.find(({ id }) => id === settled?.option)?.effect;
  const isYes = settled?.outcome === "answered" && effect !== "deny";
  const line = settled ? shortSettlementText(asked, settled, at) : "Settled";
  return (
    <details>
      <summary class="row">
        <Icon name={isYes ? "circle-check" : "circle-x"} small tone={isYes ? "ok" : ""} />
        <span class="grow" dir="auto">
          {title !== undefined && <b>{visibleText(title)} · </b>}
          {visibleText(line)}
        </span>
      </summary>
      {children}
    </details>
  );
}
