// Creates the fields of the settings forms.
import { button, el, setText, show } from "./dom.ts";
import { formatBytes } from "../ui/text/format.ts";
import {
  hintText,
  isSame,
  parseInput,
  settingName,
  toInputText,
  valueLabel,
  type FieldSchema,
  type ParsedInput,
} from "./settings-schema.ts";

export interface SettingField {
  readonly key: string;
  readonly element: HTMLElement;
  /** Returns the value in the field, or a problem if it cannot be saved. */
  read(): ParsedInput;
  isChanged(): boolean;
  /**
   * Sets the value of the file. If the user typed a different value, the field keeps it and shows
   * both, unless this page saved the value itself.
   */
  update(value: unknown, wasSaved?: boolean): void;
  /** Replaces the typed value with the value of the file. */
  reset(): void;
  showProblem(problem: string): void;
  focus(): void;
}

type Input = HTMLInputElement | HTMLTextAreaElement;

/** Creates an editable field. It calls `onChange` whenever its content changes. */
export function settingField(
  id: string,
  key: string,
  schema: FieldSchema,
  value: unknown,
  onChange: () => void,
): SettingField {
  return new EditableField(key, schema, value, createFieldParts(id, key, schema), onChange);
}

class EditableField implements SettingField {
  readonly key: string;
  readonly element: HTMLElement;
  private readonly schema: FieldSchema;
  private readonly parts: FieldParts;
  private readonly onChange: () => void;
  private stored: unknown;

  constructor(
    key: string,
    schema: FieldSchema,
    value: unknown,
    parts: FieldParts,
    onChange: () => void,
  ) {
    this.key = key;
    this.element = parts.element;
    this.schema = schema;
    this.parts = parts;
    this.onChange = onChange;
    this.stored = value;
    this.addConflictButtons();
    const event = schema.type === "boolean" ? "change" : "input";
    parts.input.addEventListener(event, () => this.render());
    this.setInput(value);
    this.render();
  }

  read(): ParsedInput {
    const { input } = this.parts;
    return this.schema.type === "boolean"
      ? { value: (input as HTMLInputElement).checked }
      : parseInput(this.schema, input.value);
  }

  isChanged(): boolean {
    const typed = this.read();
    return typed.problem !== undefined || !isSame(typed.value, normalize(this.schema, this.stored));
  }

  update(value: unknown, wasSaved = false): void {
    const { conflict, input } = this.parts;
    if (wasSaved) show(conflict, false);
    if (isSame(value, this.stored)) return;
    const wasChanged = this.isChanged();
    this.stored = value;
    if (wasSaved) return this.render();
    if (!wasChanged || !this.isChanged()) return this.reset();
    setText(
      conflict.firstElementChild,
      `The file now contains ${valueLabel(value)}. You typed ${typedLabel(this.read(), input)}.`,
    );
    show(conflict, true);
    this.render();
  }

  reset(): void {
    show(this.parts.conflict, false);
    this.setInput(this.stored);
    this.render();
  }

  showProblem(text: string): void {
    setText(this.parts.problem, text);
    if (text === "") this.parts.input.removeAttribute("aria-invalid");
    else this.parts.input.setAttribute("aria-invalid", "true");
  }

  focus(): void {
    this.parts.input.focus();
  }

  private setInput(value: unknown): void {
    const { input } = this.parts;
    if (this.schema.type === "boolean") (input as HTMLInputElement).checked = value === true;
    else input.value = toInputText(value);
  }

  private render(): void {
    const { unit = "" } = this.schema;
    const typed = this.read();
    this.showProblem(typed.problem ?? "");
    const isSize = unit === "bytes" && typeof typed.value === "number";
    setText(this.parts.unitLabel, isSize ? `bytes, ${formatBytes(typed.value as number)}` : unit);
    this.element.classList.toggle("changed", this.isChanged());
    this.onChange();
  }

  private addConflictButtons(): void {
    const { conflict } = this.parts;
    const keepMine = button("Keep mine", "quiet small", () => {
      show(conflict, false);
      this.focus();
    });
    const useFile = button("Use file value", "quiet small", () => {
      this.reset();
      this.focus();
    });
    conflict.append(el("p", {}), el("div", { class: "conflict-actions" }, keepMine, useFile));
  }
}

/** Creates a read-only field with the reason why this page cannot change the setting. */
export function fixedField(
  key: string,
  schema: FieldSchema,
  value: unknown,
  reason: string,
): HTMLElement {
  return el(
    "div",
    { class: "setting fixed" },
    el("p", { class: "setting-name" }, settingName(key, schema), keyName(key)),
    el(
      "p",
      { class: "setting-value" },
      el("span", { class: "mono" }, valueLabel(value)),
      ` ${schema.unit ?? ""}`,
    ),
    el("p", { class: "hint" }, hintText(schema)),
    el("p", { class: "hint reason" }, reason),
  );
}

/** Shows the key that the file uses. */
const keyName = (key: string): HTMLElement => el("code", { class: "key" }, key);

/** Converts a missing value to the value of an empty field. */
function normalize(schema: FieldSchema, value: unknown): unknown {
  if (schema.type === "boolean") return value === true;
  return value === undefined || value === null ? (schema.type === "array" ? [] : "") : value;
}

function typedLabel(typed: ParsedInput, input: Input): string {
  return typed.problem === undefined ? valueLabel(typed.value) : input.value;
}

interface FieldParts {
  readonly input: Input;
  readonly element: HTMLElement;
  readonly problem: HTMLElement;
  readonly unitLabel: HTMLElement;
  readonly conflict: HTMLElement;
}

function createFieldParts(id: string, key: string, schema: FieldSchema): FieldParts {
  const common = {
    id,
    "aria-describedby": `${id}-hint ${id}-problem`,
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "none",
  };
  const problem = el("p", { class: "problem", id: `${id}-problem`, role: "status" });
  const hint = el("p", { class: "hint", id: `${id}-hint` }, hintText(schema));
  const conflict = el("div", { class: "notice warn", hidden: true, role: "status" });
  const unitLabel = el("span", { class: "unit" });
  const named = (label: HTMLElement): HTMLElement =>
    el("div", { class: "named" }, label, keyName(key));
  if (schema.type === "boolean") {
    const input = el("input", { ...common, type: "checkbox" });
    const label = el("label", { class: "switch", for: id }, input, settingName(key, schema));
    const element = el("div", { class: "setting" }, named(label), hint, problem, conflict);
    return { input, element, problem, unitLabel, conflict };
  }
  const isNumber = schema.type === "integer" || schema.type === "number";
  const input: Input =
    schema.type === "array"
      ? el("textarea", { ...common, rows: 3, class: "mono", placeholder: "One per line" })
      : el("input", {
          ...common,
          class: isNumber ? "number" : "mono",
          ...(isNumber && { inputmode: "decimal" }),
        });
  const element = el(
    "div",
    { class: "setting" },
    named(el("label", { for: id }, settingName(key, schema))),
    el("div", { class: "with-unit" }, input, unitLabel),
    hint,
    problem,
    conflict,
  );
  return { input, element, problem, unitLabel, conflict };
}
