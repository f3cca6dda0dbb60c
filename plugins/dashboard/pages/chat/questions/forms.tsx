/** Choices and forms of questions in the chat. Loaded after the page. @module */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { nothingChosen, toAnswer, type GivenFields } from "../../../shared/question-fields.ts";
import type { QuestionAnswer } from "../../../shared/question-views.ts";
import { Button } from "../../parts/button.tsx";
import { Choices, Fields, TextField } from "../../questions/fields.tsx";
import type { AnswerProps } from "./acts.ts";

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
