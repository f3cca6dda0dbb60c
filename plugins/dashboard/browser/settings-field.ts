import { button, el, setText, show } from "./dom.ts";
import { formatBytes } from "../ui/text/format.ts";
import {
  hintOf,
  isSame,
  nameOf,
  readTyped,
  textOf,
  valueWords,
  type FieldSchema,
  type Typed,
} from "./settings-schema.ts";

export interface SettingField {
  readonly key: string;
  readonly element: HTMLElement;
  /** What stands in the field; `problem` when it cannot be saved. */
  read(): Typed;
  isChanged(): boolean;
  /** The value of the file. What was typed stays; when both differ, both are shown, unless it was saved here. */
  take(value: unknown, wasSaved?: boolean): void;
  /** Puts the file's value into the field. */
  reset(): void;
  complain(problem: string): void;
  focus(): void;
}

type Input = HTMLInputElement | HTMLTextAreaElement;

/** A field that can be changed. `changed` is called whenever its content does. */
export function settingField(
  id: string,
  key: string,
  schema: FieldSchema,
  first: unknown,
  changed: () => void,
): SettingField {
  let stored = first;
  const { input, element, problem, aside, conflict } = draw(id, key, schema);
  const isSwitch = schema.type === "boolean";
  const { unit = "" } = schema;
  const read = (): Typed =>
    isSwitch ? { value: (input as HTMLInputElement).checked } : readTyped(schema, input.value);
  const put = (value: unknown): void => {
    if (isSwitch) (input as HTMLInputElement).checked = value === true;
    else input.value = textOf(value);
  };
  const complain = (text: string): void => {
    setText(problem, text);
    if (text === "") input.removeAttribute("aria-invalid");
    else input.setAttribute("aria-invalid", "true");
  };
  const isChanged = (): boolean => {
    const typed = read();
    return typed.problem !== undefined || !isSame(typed.value, normal(schema, stored));
  };
  const look = (): void => {
    const typed = read();
    complain(typed.problem ?? "");
    setText(
      aside,
      unit === "bytes" && typeof typed.value === "number"
        ? `bytes, ${formatBytes(typed.value)}`
        : unit,
    );
    element.classList.toggle("changed", isChanged());
    changed();
  };
  const reset = (): void => {
    show(conflict, false);
    put(stored);
    look();
  };
  const settle = (): void => {
    show(conflict, false);
    input.focus();
  };
  conflict.append(
    el("p", {}),
    el(
      "div",
      { class: "conflict-actions" },
      button("Keep mine", "quiet small", settle),
      button("Take theirs", "quiet small", () => {
        reset();
        input.focus();
      }),
    ),
  );
  input.addEventListener(isSwitch ? "change" : "input", look);
  put(stored);
  look();
  return {
    key,
    element,
    read,
    isChanged,
    complain,
    reset,
    focus: () => input.focus(),
    take(value, wasSaved = false) {
      if (wasSaved) show(conflict, false);
      if (isSame(value, stored)) return;
      const wasChanged = isChanged();
      stored = value;
      if (wasSaved) return look();
      if (!wasChanged || !isChanged()) return reset();
      const mine = typedWords(read(), input);
      setText(
        conflict.firstElementChild,
        `The file says ${valueWords(value)} meanwhile; you typed ${mine}.`,
      );
      show(conflict, true);
      look();
    },
  };
}

/** A setting that only a file or the environment can change, with the reason. */
export function fixedField(
  key: string,
  schema: FieldSchema,
  value: unknown,
  reason: string,
): HTMLElement {
  return el(
    "div",
    { class: "setting fixed" },
    el("p", { class: "setting-name" }, nameOf(key, schema), keyName(key)),
    el(
      "p",
      { class: "setting-value" },
      el("span", { class: "mono" }, valueWords(value)),
      ` ${schema.unit ?? ""}`,
    ),
    el("p", { class: "hint" }, hintOf(schema)),
    el("p", { class: "hint reason" }, reason),
  );
}

/** As the file and its variable call it. */
const keyName = (key: string): HTMLElement => el("code", { class: "key" }, key);

function normal(schema: FieldSchema, value: unknown): unknown {
  if (schema.type === "boolean") return value === true;
  return value === undefined || value === null ? (schema.type === "array" ? [] : "") : value;
}

function typedWords(typed: Typed, input: Input): string {
  return typed.problem === undefined ? valueWords(typed.value) : input.value;
}

function draw(
  id: string,
  key: string,
  schema: FieldSchema,
): {
  input: Input;
  element: HTMLElement;
  problem: HTMLElement;
  aside: HTMLElement;
  conflict: HTMLElement;
} {
  const common = {
    id,
    "aria-describedby": `${id}-hint ${id}-problem`,
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "none",
  };
  const problem = el("p", { class: "problem", id: `${id}-problem`, role: "status" });
  const hint = el("p", { class: "hint", id: `${id}-hint` }, hintOf(schema));
  const conflict = el("div", { class: "notice warn", hidden: true, role: "status" });
  const aside = el("span", { class: "unit" });
  const named = (label: HTMLElement): HTMLElement =>
    el("div", { class: "named" }, label, keyName(key));
  if (schema.type === "boolean") {
    const input = el("input", { ...common, type: "checkbox" });
    const label = el("label", { class: "switch", for: id }, input, nameOf(key, schema));
    const element = el("div", { class: "setting" }, named(label), hint, problem, conflict);
    return { input, element, problem, aside, conflict };
  }
  const isNumber = schema.type === "integer" || schema.type === "number";
  const input: Input =
    schema.type === "array"
      ? el("textarea", { ...common, rows: 3, class: "mono", placeholder: "one on each line" })
      : el("input", {
          ...common,
          class: isNumber ? "number" : "mono",
          ...(isNumber && { inputmode: "decimal" }),
        });
  const element = el(
    "div",
    { class: "setting" },
    named(el("label", { for: id }, nameOf(key, schema))),
    el("div", { class: "with-unit" }, input, aside),
    hint,
    problem,
    conflict,
  );
  return { input, element, problem, aside, conflict };
}
