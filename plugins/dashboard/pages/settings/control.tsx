/** Controls of the settings: switch, number with unit, choice, list of tags, text. @module */
import type { JSX } from "preact";
import { IconButton } from "../parts/button.tsx";
import { Switch } from "../parts/field.tsx";
import { addItems, unitOf, type Draft, type Setting } from "./form.ts";
import { isNumeric } from "./schema.ts";
import { toUnitValue, unitsOf } from "./units.ts";

/** Properties of every control. */
interface ControlProps {
  readonly setting: Setting;
  readonly draft: Draft;
  readonly isInvalid: boolean;
  edit(change: Partial<Draft>): void;
  check(): void;
}

/** Draws the control for the type of the setting. */
export function Control(props: ControlProps): JSX.Element {
  const { type, enum: values } = props.setting.schema;
  if (type === "boolean")
    return (
      <Switch
        {...describe(props)}
        checked={props.draft.on === true}
        onChange={(on) => props.edit({ on })}
      />
    );
  if (type === "array") return <Tags {...props} />;
  if (values) return <Choice {...props} values={values} />;
  return <TextInput {...props} />;
}

const describe = ({ setting, isInvalid }: ControlProps) => ({
  id: setting.id,
  "aria-describedby": `${setting.id}-hint ${setting.id}-problem`,
  "aria-invalid": isInvalid ? ("true" as const) : undefined,
});

const plainInput = {
  autocomplete: "off",
  autocapitalize: "none",
  spellcheck: false,
} as const;

function TextInput(props: ControlProps): JSX.Element {
  const { setting, draft, edit, check } = props;
  const { unit = "" } = setting.schema;
  const isNumber = isNumeric(setting.schema);
  const hasUnits = unitsOf(unit).length > 0;
  return (
    <>
      <input
        {...describe(props)}
        {...plainInput}
        class={isNumber ? "input number" : "input mono"}
        inputmode={isNumber ? "decimal" : "text"}
        value={draft.text ?? ""}
        onInput={(event) => edit({ text: event.currentTarget.value })}
        onBlur={check}
      />
      {hasUnits && <UnitSelect {...props} />}
      {!hasUnits && unit !== "" && <span class="muted small">{unit}</span>}
    </>
  );
}

type ChoiceProps = ControlProps & { readonly values: readonly string[] };

function Choice({ values, ...props }: ChoiceProps): JSX.Element {
  const { text = "" } = props.draft;
  const options = values.includes(text) ? values : [text, ...values];
  return (
    <select
      {...describe(props)}
      class="select"
      value={text}
      onChange={(event) => props.edit({ text: event.currentTarget.value })}
    >
      {options.map((value) => (
        <option key={value} value={value} selected={value === text}>
          {value}
        </option>
      ))}
    </select>
  );
}

function UnitSelect({ setting, draft, edit }: ControlProps): JSX.Element {
  const units = unitsOf(setting.schema.unit);
  const chosen = unitOf(setting, draft) ?? toUnitValue(0, units).unit;
  return (
    <select
      class="select"
      aria-label={`Unit of ${setting.name.toLowerCase()}`}
      value={chosen.name}
      onChange={(event) => edit({ unit: event.currentTarget.value })}
    >
      {units.map(({ name }) => (
        <option key={name} value={name} selected={name === chosen.name}>
          {name}
        </option>
      ))}
    </select>
  );
}

/** The values of a list as tags, and a field that adds one. */
function Tags(props: ControlProps): JSX.Element {
  const { setting, draft, edit, check } = props;
  const { items = [], text = "" } = draft;
  const add = (): void => edit({ items: addItems(items, text), text: "" });
  return (
    <>
      {items.map((item) => (
        <span key={item} class="tag">
          {item}
          <IconButton
            icon="x"
            label={`Remove ${item}`}
            onClick={() => {
              edit({ items: items.filter((other) => other !== item) });
              document.getElementById(setting.id)?.focus();
            }}
          />
        </span>
      ))}
      <input
        {...describe(props)}
        {...plainInput}
        class="input mono grow"
        placeholder="Add and press Enter"
        value={text}
        onInput={(event) => edit({ text: event.currentTarget.value })}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          if (text.trim() !== "") add();
        }}
        onBlur={() => {
          if (text.trim() !== "") add();
          check();
        }}
      />
    </>
  );
}
