/** Choices and forms of questions. Loaded after the page. @module */
import type { ComponentChildren, JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { choicesOf, inputTypeOf } from "../../../shared/question-fields.ts";
import { visibleText } from "../../../shared/visible-text.ts";
import { Button } from "../../parts/button.tsx";
import type { AnswerProps } from "./acts.ts";
import { readValues, type Property } from "./values.ts";

interface FormProps extends AnswerProps {
  readonly submit: (form: HTMLFormElement) => void;
  readonly children: ComponentChildren;
}

/** Ctrl+Enter sends, also from a field of its own. */
function AnswerForm({ submit, children, isSending, send }: FormProps): JSX.Element {
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        submit(event.currentTarget);
      }}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        event.currentTarget.requestSubmit();
      }}
    >
      {children}
      <SendButtons isSending={isSending} send={send} />
    </form>
  );
}

/** Sends and dismisses, for forms. */
function SendButtons({ isSending, send }: Omit<AnswerProps, "asked">): JSX.Element {
  return (
    <div class="row wrap">
      <Button type="submit" kind="primary" busy={isSending && "Sending…"}>
        Send the answer
      </Button>
      <Button aria-disabled={isSending} onClick={() => send({ dismiss: true })}>
        Dismiss
      </Button>
    </div>
  );
}

/** A text of one's own replaces the options. */
export function ChoiceForm(props: AnswerProps): JSX.Element {
  const { asked, send } = props;
  const { options = [], multiple, other } = asked;
  const id = useId();
  const [problem, setProblem] = useState("");
  const submit = (form: HTMLFormElement): void => {
    const data = new FormData(form);
    const chosen = data.getAll("option").map(String);
    const text = String(data.get("text") ?? "").trim();
    setProblem("");
    if (text !== "") send({ text });
    else if (chosen.length === 0) setProblem("Choose an answer first.");
    else send(multiple === true ? { options: chosen } : { option: chosen[0]! });
  };
  return (
    <AnswerForm {...props} submit={submit}>
      <fieldset class="options">
        <legend class={multiple === true ? "muted" : "unseen"}>
          {multiple === true ? "Choose any number." : "Choose one."}
        </legend>
        {options.map((option) => (
          <label key={option.id} class="row">
            <input
              type={multiple === true ? "checkbox" : "radio"}
              name="option"
              value={option.id}
            />
            <span dir="auto">
              {visibleText(option.label)}
              {option.description !== undefined && <small>{visibleText(option.description)}</small>}
            </span>
          </label>
        ))}
      </fieldset>
      {other === true && (
        <p class="field">
          <label for={id}>Another answer instead</label>
          <input class="input" id={id} name="text" maxLength={1_000} autocomplete="off" />
        </p>
      )}
      <p class="problem" role="alert" hidden={problem === ""}>
        {problem}
      </p>
    </AnswerForm>
  );
}

export function ValuesForm(props: AnswerProps): JSX.Element {
  const { schema } = props.asked;
  const properties = schema?.properties ?? {};
  const required = new Set(schema?.required);
  return (
    <AnswerForm
      {...props}
      submit={(form) => props.send({ values: readValues(properties, new FormData(form)) })}
    >
      {Object.entries(properties).map(([name, property]) => (
        <ValueField key={name} {...{ name, property }} isRequired={required.has(name)} />
      ))}
      <p class="muted xs">Your answer is stored in the conversation. Don’t enter passwords.</p>
    </AnswerForm>
  );
}

interface FieldProps {
  readonly name: string;
  readonly property: Property;
  readonly isRequired: boolean;
}

function ValueField({ name, property, isRequired }: FieldProps): JSX.Element {
  const id = useId();
  const { type, title, description, default: preset } = property;
  const label = (
    <>
      {visibleText(title ?? name)}
      {!isRequired && type !== "boolean" && <small> (optional)</small>}
    </>
  );
  const hint = description !== undefined && (
    <small id={`${id}-hint`}>{visibleText(description)}</small>
  );
  const common = { id, name, "aria-describedby": hint ? `${id}-hint` : undefined };
  if (type === "boolean")
    return (
      <p class="field options">
        <label for={id} class="row">
          <input type="checkbox" {...common} defaultChecked={preset === true} />
          <span dir="auto">{label}</span>
        </label>
        {hint}
      </p>
    );
  return (
    <p class="field">
      <label for={id} dir="auto">
        {label}
      </label>
      <ValueInput {...common} property={property} isRequired={isRequired} />
      {hint}
    </p>
  );
}

interface InputProps {
  readonly id: string;
  readonly name: string;
  readonly "aria-describedby": string | undefined;
  readonly property: Property;
  readonly isRequired: boolean;
}

function ValueInput({ property, isRequired, ...rest }: InputProps): JSX.Element {
  const { type, default: preset, minLength, maxLength, minimum, maximum } = property;
  const common = { ...rest, required: isRequired, class: "input" };
  const choices = choicesOf(property);
  const presets = (Array.isArray(preset) ? preset : [preset]).map(String);
  if (choices)
    return (
      <select {...common} multiple={type === "array"}>
        {type !== "array" && <option value="">Choose…</option>}
        {choices.map(({ value, text }) => (
          <option key={value} value={value} selected={presets.includes(value)}>
            {visibleText(text)}
          </option>
        ))}
      </select>
    );
  return (
    <input
      {...common}
      type={inputTypeOf(property) as "text"}
      step={type === "number" ? "any" : undefined}
      min={minimum}
      max={maximum}
      minLength={minLength}
      maxLength={maxLength}
      defaultValue={preset === undefined ? "" : String(preset)}
    />
  );
}
