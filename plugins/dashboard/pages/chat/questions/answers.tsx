/** The answers to a question: buttons, choices, a form or a link, and how they are sent. @module */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { nothingChosen, toAnswer, type GivenFields } from "../../../shared/question-fields.ts";
import { lookOfOption } from "../../../shared/question-labels.ts";
import type { AnsweredView, QuestionAnswer } from "../../../shared/question-views.ts";
import { visibleText } from "../../../shared/visible-text.ts";
import { requestAsOwner } from "../../live/owner.ts";
import { Button } from "../../parts/button.tsx";
import { Menu } from "../../parts/menu.tsx";
import { Choices, Fields, TextField } from "../../questions/fields.tsx";
import { AddressText, OpenButton } from "../../questions/web-address.tsx";
import type { ShownConversation } from "../state/store.ts";
import type { AskedQuestion } from "../state/thread.ts";

/** The question, and how its buttons answer it. */
export interface AnswerProps {
  readonly asked: AskedQuestion;
  /** True while an answer is under way. */
  readonly isSending: boolean;
  readonly send: (answer: QuestionAnswer) => void;
}

/** The effect of an answer. `late`: another one came first. */
export type Sent =
  | { readonly state: "settled" | "late" }
  | { readonly state: "failed"; readonly problem: string };

const endCodes: readonly unknown[] = ["already_settled", "unknown_question"];

/**
 * Sends an answer once. Nothing is kept for later: the question may be settled by then.
 *
 * @param id - Id of the question.
 */
export async function sendAnswer(
  { store, conversation }: ShownConversation,
  id: string,
  answer: QuestionAnswer,
): Promise<Sent> {
  const { channel, session } = store.targetOf(conversation);
  const path = `/api/questions/${encodeURIComponent(id)}`;
  const result = await requestAsOwner<AnsweredView>("POST", path, { channel, session, ...answer });
  // The channel reports the settlement, if it is connected.
  const isSettled = !("error" in result) || endCodes.includes(result.error.code);
  if (isSettled) await conversation.loadHistory();
  if (!("error" in result)) return { state: "settled" };
  const { status, code, message } = result.error;
  if (code === "already_settled") return { state: "late" };
  return {
    state: "failed",
    problem: status === 0 ? "Not sent. Try again." : `Not sent. ${message}`,
  };
}

/** The first allowing option and the first one that denies; lasting and other ones in a menu. */
export function Approval({ asked, isSending, send }: AnswerProps): JSX.Element {
  const [isReasoning, setReasoning] = useState(false);
  const { options = [] } = asked;
  const allow = options.find(({ effect, lasting }) => effect === "allow" && lasting !== true);
  const deny = options.find(({ effect, lasting }) => effect === "deny" && lasting !== true);
  const direct = options.filter((option) => option === allow || option === deny);
  const others = options.filter((option) => !direct.includes(option));
  const items = [
    ...others.map((option) => {
      const { text, icon = "circle-x" } = lookOfOption(option);
      return { name: visibleText(text), icon, act: () => send({ option: option.id }) };
    }),
    ...(deny
      ? [{ name: "Deny with a reason…", icon: "pencil", act: () => setReasoning(true) }]
      : []),
  ];
  if (isReasoning && deny)
    return (
      <Reason
        isSending={isSending}
        deny={(text) => send({ option: deny.id, ...(text !== "" && { text }) })}
        back={() => setReasoning(false)}
      />
    );
  return (
    <div class="row wrap">
      {direct.map((option) => {
        const { text, mayLead, ...look } = lookOfOption(option);
        return (
          <Button
            key={option.id}
            {...look}
            kind={mayLead ? "primary" : "plain"}
            title={option.description && visibleText(option.description)}
            aria-disabled={isSending}
            onClick={() => send({ option: option.id })}
          >
            <span dir="auto">{visibleText(text)}</span>
          </Button>
        );
      })}
      {items.length > 0 && <Menu label="More answers" items={items} />}
    </div>
  );
}

interface ReasonProps {
  readonly isSending: boolean;
  readonly deny: (text: string) => void;
  readonly back: () => void;
}

/** The server accepts 4 KiB: as many letters of any script. */
const maxReason = 1_000;

/** Enter denies here. It never allows. */
function Reason({ isSending, deny, back }: ReasonProps): JSX.Element {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        deny(field.current!.value.trim());
      }}
    >
      <p class="field">
        <label for={id}>Reason</label>
        <input class="input" id={id} ref={field} maxLength={maxReason} autocomplete="off" />
      </p>
      <div class="row wrap">
        <Button type="submit" busy={isSending && "Sending…"}>
          Deny with this reason
        </Button>
        <Button kind="ghost" onClick={back}>
          Back
        </Button>
      </div>
    </form>
  );
}

interface FormProps extends AnswerProps {
  readonly submit: (answer: QuestionAnswer) => void;
  readonly children: ComponentChildren;
}

function readFields(form: HTMLFormElement): GivenFields {
  const data = new FormData(form);
  return Object.fromEntries([...data.keys()].map((name) => [name, data.getAll(name).map(String)]));
}

/** Ctrl+Enter sends, also from a field of its own. */
function AnswerForm({ asked, submit, children, isSending, send }: FormProps): JSX.Element {
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        submit(toAnswer(asked, readFields(event.currentTarget)));
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        event.currentTarget.requestSubmit();
      }}
    >
      {children}
      <div class="row wrap">
        <Button type="submit" kind="primary" busy={isSending && "Sending…"}>
          Send the answer
        </Button>
        <Button aria-disabled={isSending} onClick={() => send({ dismiss: true })}>
          Dismiss
        </Button>
      </div>
    </form>
  );
}

export function ChoiceForm(props: AnswerProps): JSX.Element {
  const { asked, send } = props;
  const [isEmpty, setEmpty] = useState(false);
  const submit = (answer: QuestionAnswer): void => {
    const isNothing = Object.keys(answer).length === 0;
    setEmpty(isNothing);
    if (!isNothing) send(answer);
  };
  return (
    <AnswerForm {...props} submit={submit}>
      <Choices question={asked} problem={isEmpty ? nothingChosen : undefined} />
      {asked.other === true && <TextField label="Another answer instead" />}
    </AnswerForm>
  );
}

export const ValuesForm = (props: AnswerProps): JSX.Element => (
  <AnswerForm {...props} submit={props.send}>
    <Fields question={props.asked} />
  </AnswerForm>
);

/** Nothing opens without a click, which is the consent. */
export function LinkAnswer({ asked, isSending, send }: AnswerProps): JSX.Element {
  const { url = "", options = [] } = asked;
  const allow = options.find(({ effect }) => effect === "allow") ?? options[0];
  const deny = options.find(({ effect }) => effect === "deny");
  return (
    <>
      <AddressText text={url} />
      <div class="row wrap">
        <OpenButton
          text={url}
          onClick={() => send(allow ? { option: allow.id } : { dismiss: true })}
        />
        <Button
          aria-disabled={isSending}
          onClick={() => send(deny ? { option: deny.id } : { dismiss: true })}
        >
          Don’t open
        </Button>
      </div>
    </>
  );
}
