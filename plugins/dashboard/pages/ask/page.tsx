/** One question of the application, as a form that works without a script. @module */
import type { JSX } from "preact";
import type { QuestionView } from "../../shared/question-views.ts";
import { settlementText } from "../../shared/question-labels.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { Empty, Notice, PageHead } from "../parts/states.tsx";
import { useSite } from "../site.tsx";

/** The question, and what became of an answer to it. */
export interface AskData {
  /** Absent if the session has no such question. */
  readonly view?: QuestionView;
  /** Path of the page: the form is sent there. */
  readonly path: string;
  /** Why the last answer was rejected. */
  readonly problem?: string;
  /** The last answer came too late. */
  readonly isLate?: boolean;
}

type Property = NonNullable<QuestionView["question"]["schema"]>["properties"][string];

export function AskPage({ data }: { readonly data: AskData }): JSX.Element {
  const { view, problem, isLate } = data;
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
      <PageHead title={question.title ?? "Question"} />
      {isLate && settled && <Notice tone="warn">Another answer came first.</Notice>}
      {problem !== undefined && (
        <div role="alert">
          <Notice tone="bad">{problem}</Notice>
        </div>
      )}
      <section class="card stack">
        <p class="asked" dir="auto">
          {content}
        </p>
        {settled ? <p>{settlementText(question, settled)}</p> : <Answer data={data} view={view} />}
      </section>
    </div>
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
      {kind === "form" && <Fields question={question} />}
      {kind === "choice" && <Choices question={question} />}
      {kind === "link" && question.url !== undefined && <Address address={question.url} />}
      {(kind === "approval" || question.other === true) && (
        <p class="field">
          <label for="text">{kind === "approval" ? "Reason (optional)" : "Another answer"}</label>
          <input class="input" id="text" name="text" maxLength={1000} autoComplete="off" />
        </p>
      )}
      <div class="row wrap">
        {hasButtons ? (
          question.options?.map(({ id, label, effect, description }) => (
            <Button
              key={id}
              type="submit"
              name="option"
              value={id}
              title={description}
              kind={effect === "allow" ? "primary" : "plain"}
            >
              {label}
            </Button>
          ))
        ) : (
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

function Choices({ question }: Pick<QuestionView, "question">): JSX.Element {
  const type = question.multiple === true ? "checkbox" : "radio";
  return (
    <fieldset class="stack">
      <legend class="unseen">Options</legend>
      {question.options?.map(({ id, label, description }) => (
        <label key={id} class="row">
          <input type={type} name="option" value={id} />
          <span>
            {label}
            {description !== undefined && <small> {description}</small>}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** The address is text until it is clicked, and shows its host. */
function Address({ address }: { readonly address: string }): JSX.Element {
  return (
    <>
      <p class="asked">
        <code>{address}</code>
      </p>
      <p>
        <LinkButton href={address} target="_blank" rel="noopener noreferrer">
          Open {URL.canParse(address) ? new URL(address).host : "the address"}
        </LinkButton>
      </p>
    </>
  );
}

function Fields({ question: { schema } }: Pick<QuestionView, "question">): JSX.Element {
  const required = new Set(schema?.required);
  return (
    <>
      <Notice tone="info">The values are stored in the conversation.</Notice>
      {Object.entries(schema?.properties ?? {}).map(([name, property]) => (
        <Field key={name} name={name} property={property} isRequired={required.has(name)} />
      ))}
    </>
  );
}

interface FieldProps {
  readonly name: string;
  readonly property: Property;
  readonly isRequired: boolean;
}

interface Choice {
  readonly value: string;
  readonly text: string;
}

const choicesOf = (property: Property): readonly Choice[] | undefined => {
  const {
    enum: values,
    enumNames,
    oneOf,
  } = property as {
    enum?: readonly string[];
    enumNames?: readonly string[];
    oneOf?: readonly { const: string; title?: string }[];
  };
  if (oneOf) return oneOf.map((one) => ({ value: one.const, text: one.title ?? one.const }));
  return values?.map((value, index) => ({ value, text: enumNames?.[index] ?? value }));
};

const inputTypes: Readonly<Record<string, "email" | "url" | "date" | "number">> = {
  email: "email",
  uri: "url",
  date: "date",
  integer: "number",
  number: "number",
};

function Field({ name, property, isRequired }: FieldProps): JSX.Element {
  const { type, format, title, description } = property as {
    readonly type: string;
    readonly format?: string;
    readonly title?: string;
    readonly description?: string;
    readonly default?: unknown;
    readonly items?: Property;
  };
  const { default: preset, items } = property as { default?: unknown; items?: Property };
  const id = `value-${name}`;
  const choices = choicesOf(type === "array" && items ? items : property);
  const common = { id, name: `value.${name}`, required: isRequired, class: "input" };
  const value = preset === undefined ? "" : String(preset);
  return (
    <p class="field">
      <label for={id}>{title ?? name}</label>
      {type === "boolean" ? (
        <select {...common}>
          <option value="false">No</option>
          <option value="true" selected={preset === true}>
            Yes
          </option>
        </select>
      ) : choices ? (
        <select {...common} multiple={type === "array"}>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value} selected={choice.value === value}>
              {choice.text}
            </option>
          ))}
        </select>
      ) : (
        <input
          {...common}
          type={(inputTypes[format ?? type] ?? "text") as "text"}
          step={type === "number" ? "any" : undefined}
          defaultValue={value}
        />
      )}
      {description !== undefined && <small>{description}</small>}
    </p>
  );
}
