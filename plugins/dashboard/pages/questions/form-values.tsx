/** The values with which a form was answered. @module */
import type { JSX } from "preact";
import type { QuestionView } from "../../shared/question-views.ts";
import { visibleText } from "../../shared/visible-text.ts";

type FormQuestion = Pick<QuestionView["question"], "schema" | "settled">;

function toText(value: unknown): string {
  if (typeof value === "boolean") return value ? "Yes" : "No";
  return Array.isArray(value) ? value.map(toText).join(", ") : String(value);
}

/** Draws nothing for a question without values. */
export function FormValues({ question }: { readonly question: FormQuestion }): JSX.Element | null {
  const { schema, settled } = question;
  const values = Object.entries(settled?.values ?? {});
  if (values.length === 0) return null;
  return (
    <dl class="values">
      {values.map(([name, value]) => (
        <div key={name}>
          <dt dir="auto">{visibleText(schema?.properties[name]?.title ?? name)}</dt>
          <dd dir="auto">{visibleText(toText(value))}</dd>
        </div>
      ))}
    </dl>
  );
}
