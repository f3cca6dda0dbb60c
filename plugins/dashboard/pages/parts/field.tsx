/** Fields, and the problem of a field. @module */
import type { Signal } from "@preact/signals";
import type { ComponentChildren, JSX, PartialInputHTMLAttributes, RefObject } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

type InputAttributes = Omit<PartialInputHTMLAttributes<HTMLInputElement>, "role" | "list">;

/** The problem of a field. It stays in the page, so that a new text is announced. */
export function FieldProblem({ id, text }: { id?: string; text?: string | undefined }) {
  return (
    <p class="problem" id={id} role="alert" hidden={!text}>
      {text}
    </p>
  );
}

type SecretProps = Omit<InputAttributes, "type" | "label"> & {
  readonly inputRef?: RefObject<HTMLInputElement | null>;
  readonly id: string;
  /** Name of the secret, for the button: "launcher token". */
  readonly secret: string;
};

/** A field for a token, masked until the user shows it. */
export function Secret({ secret, inputRef, ...rest }: SecretProps): JSX.Element {
  const [isShown, setShown] = useState(false);
  return (
    <div class="secret">
      <input
        ref={inputRef ?? null}
        class="input"
        autocomplete="current-password"
        autocapitalize="none"
        spellcheck={false}
        {...rest}
        type={isShown ? "text" : ("password" as "text")}
      />
      <button
        type="button"
        class="reveal scripted"
        aria-pressed={isShown}
        aria-label={`${isShown ? "Hide" : "Show"} ${secret}`}
        onClick={() => setShown(!isShown)}
      >
        {isShown ? "Hide" : "Show"}
      </button>
    </div>
  );
}

type SearchProps = Omit<InputAttributes, "type" | "label" | "onInput"> & {
  readonly label: string;
  readonly onText: (text: string) => void;
};

/** A field that filters a list while typing. The key `/` moves the focus to it. */
export function Search({ label, onText, ...rest }: SearchProps): JSX.Element {
  return (
    <div class="search">
      <Icon name="search" small />
      <input
        class="input"
        aria-label={label}
        placeholder={label}
        data-main-field
        {...rest}
        type="search"
        onInput={(event) => onText(event.currentTarget.value)}
      />
    </div>
  );
}

interface SelectProps<T> {
  readonly id: string;
  readonly label: string;
  readonly options: readonly (readonly [value: T, text: string])[];
  readonly chosen: Signal<T>;
  /** A field below that belongs to the choice. */
  readonly children?: ComponentChildren;
}

/** A labelled list of which one item is chosen. */
export function SelectField<T extends string | number | undefined>({
  id,
  label,
  options,
  chosen,
  children,
}: SelectProps<T>): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        class="select"
        id={id}
        onChange={({ currentTarget: { selectedIndex } }) => {
          chosen.value = options[selectedIndex]![0];
        }}
      >
        {options.map(([value, text]) => (
          <option key={text} value={value} selected={value === chosen.value}>
            {text}
          </option>
        ))}
      </select>
      {children}
    </div>
  );
}

type SwitchProps = Omit<InputAttributes, "type" | "label" | "onChange"> & {
  readonly onChange: (isOn: boolean) => void;
};

/** Turns something on and off. It needs a label. */
export function Switch({ onChange, ...rest }: SwitchProps): JSX.Element {
  return (
    <input
      {...rest}
      type="checkbox"
      role="switch"
      class="switch"
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}
