/** Choices and forms of questions, with the values that were sent before. @module */
import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import {
  choicesOf,
  textsOf,
  type FieldProblem,
  type GivenFields,
} from "../../shared/question-fields.ts";
import type { QuestionView } from "../../shared/question-views.ts";
import { visibleText } from "../../shared/visible-text.ts";
import { Notice } from "../parts/states.tsx";

/** The result of the form that was sent last. */
export interface FormState {
  readonly problem?: FieldProblem | undefined;
  /** Its fields. */
  readonly given?: GivenFields | undefined;
}

type Question = QuestionView["question"];
type Property = NonNullable<Question["schema"]>["properties"][string];

export function TextField({ label, problem, given }: FormState & { readonly label: string }) {
  const id = useId();
  const isWrong = problem?.field === "text";
  return (
    <p class="field">
      <label for={id}>{label}</label>
      <input
        class="input"
        id={id}
        name="text"
        maxLength={1000}
        autoComplete="off"
        aria-invalid={isWrong || undefined}
        aria-describedby={isWrong ? `${id}-problem` : undefined}
        defaultValue={textsOf(given?.["text"]).join(" ")}
      />
      {isWrong && (
        <small class="problem" id={`${id}-problem`}>
          {problem.text}
        </small>
      )}
    </p>
  );
}

interface QuestionProps extends FormState {
  readonly question: Question;
}

export function Choices({ question, given, problem }: QuestionProps): JSX.Element {
  const isMultiple = question.multiple === true;
  const isWrong = problem?.field === "option" || problem?.field === "options";
  const chosen = textsOf(given?.["option"]);
  const id = useId();
  return (
    <fieldset class="stack" aria-describedby={isWrong ? id : undefined}>
      <legend class={isMultiple ? "muted" : "unseen"}>
        {isMultiple ? "Choose any number." : "Choose one."}
      </legend>
      {question.options?.map(({ id: option, label, description }) => (
        <label key={option} class="row">
          <input
            type={isMultiple ? "checkbox" : "radio"}
            name="option"
            value={option}
            defaultChecked={chosen.includes(option)}
          />
          <span dir="auto">
            {visibleText(label)}
            {description !== undefined && <small> {visibleText(description)}</small>}
          </span>
        </label>
      ))}
      {isWrong && (
        <small class="problem" role="alert" id={id}>
          {problem.text}
        </small>
      )}
    </fieldset>
  );
}

export function Fields({ question: { schema }, ...state }: QuestionProps): JSX.Element {
  const required = new Set(schema?.required);
  return (
    <>
      <Notice tone="info">The values are stored in the conversation. Don’t enter passwords.</Notice>
      {Object.entries(schema?.properties ?? {}).map(([name, property]) => (
        <Field key={name} {...{ name, property, ...state }} isRequired={required.has(name)} />
      ))}
    </>
  );
}

interface FieldProps extends FormState {
  readonly name: string;
  readonly property: Property;
  readonly isRequired: boolean;
}

function Field({ name, property, isRequired, problem, given }: FieldProps): JSX.Element {
  const { type, title, description, default: preset } = property;
  const field = `values.${name}`;
  const id = useId();
  const isWrong = problem?.field === field;
  const notes = [isWrong && `${id}-problem`, description !== undefined && `${id}-hint`];
  const common = {
    id,
    name: field,
    required: isRequired,
    class: "input",
    "aria-invalid": isWrong || undefined,
    "aria-describedby": notes.filter(Boolean).join(" ") || undefined,
    autofocus: isWrong || undefined,
  };
  const presets = (Array.isArray(preset) ? preset : [preset ?? ""]).map(String);
  const values = given ? textsOf(given[field]) : presets;
  return (
    <p class="field">
      <label for={id} dir="auto">
        {visibleText(title ?? name)}
        {!isRequired && type !== "boolean" && <small> (optional)</small>}
      </label>
      <ValueInput {...common} {...{ property, values }} />
      {isWrong && (
        <small class="problem" id={`${id}-problem`}>
          {problem.text}
        </small>
      )}
      {description !== undefined && (
        <small id={`${id}-hint`} dir="auto">
          {visibleText(description)}
        </small>
      )}
    </p>
  );
}

const inputTypes: Readonly<Record<string, "email" | "url" | "date" | "number">> = {
  email: "email",
  uri: "url",
  date: "date",
  integer: "number",
  number: "number",
};

interface InputProps {
  readonly property: Property;
  readonly values: readonly string[];
  readonly [attribute: string]: unknown;
}

function ValueInput({ property, values, ...common }: InputProps): JSX.Element {
  const { type, format, minLength, maxLength, minimum, maximum } = property;
  const choices =
    type === "boolean"
      ? [
          { value: "false", text: "No" },
          { value: "true", text: "Yes" },
        ]
      : choicesOf(property);
  if (!choices)
    return (
      <input
        {...common}
        type={(inputTypes[format ?? type] ?? "text") as "text"}
        step={type === "number" ? "any" : undefined}
        min={minimum}
        max={maximum}
        minLength={minLength}
        maxLength={maxLength}
        defaultValue={values[0] ?? ""}
      />
    );
  const options: ComponentChildren = choices.map(({ value, text }) => (
    <option key={value} value={value} selected={values.includes(value)}>
      {visibleText(text)}
    </option>
  ));
  return (
    <select {...common} multiple={type === "array"}>
      {type !== "array" && <option value="">Choose…</option>}
      {options}
    </select>
  );
}
