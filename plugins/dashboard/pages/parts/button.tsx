/** Buttons and links that look like buttons. @module */
import type { ButtonHTMLAttributes, ComponentChildren, PartialAnchorHTMLAttributes } from "preact";
import { Icon } from "./icon.tsx";

interface Look {
  /** @defaultValue `"plain"` */
  readonly kind?: "primary" | "plain" | "ghost" | "danger" | undefined;
  readonly compact?: boolean | undefined;
  /** Full width of the surrounding box. */
  readonly block?: boolean | undefined;
  readonly icon?: string;
  readonly children?: ComponentChildren;
}

type ButtonProps = Look &
  Omit<ButtonHTMLAttributes, "icon"> & {
    /** Text while the action runs. The button is then disabled and keeps its width. */
    readonly busy?: string | false | undefined;
  };

const classOf = ({ kind, compact, block }: Look): string =>
  ["button", kind !== "plain" && kind, compact && "compact", block && "block"]
    .filter(Boolean)
    .join(" ");

export function Button({ kind, compact, block, icon, busy, children, ...rest }: ButtonProps) {
  const isBusy = typeof busy === "string";
  return (
    <button
      type="button"
      {...rest}
      class={classOf({ kind, compact, block })}
      aria-disabled={isBusy || undefined}
      onClick={isBusy ? (event) => event.preventDefault() : rest.onClick}
    >
      {icon !== undefined && <Icon name={icon} small={compact} />}
      {isBusy ? (
        <span class="busy">
          <span>{busy}</span>
          <span aria-hidden="true">{children}</span>
        </span>
      ) : (
        children
      )}
    </button>
  );
}

type LinkButtonProps = Look &
  Omit<PartialAnchorHTMLAttributes<HTMLAnchorElement>, "icon" | "role"> & { readonly href: string };

/** A link that looks like a button. `href` needs the base path. */
export function LinkButton({ kind, compact, block, icon, children, ...rest }: LinkButtonProps) {
  return (
    <a {...rest} class={classOf({ kind, compact, block })}>
      {icon !== undefined && <Icon name={icon} small={compact} />}
      {children}
    </a>
  );
}

type IconButtonProps = Omit<ButtonHTMLAttributes, "icon" | "label"> & {
  readonly icon: string;
  /** Name for assistive technology and tooltip. */
  readonly label: string;
  readonly compact?: boolean | undefined;
  readonly flip?: boolean;
};

/** A button that shows only an icon. */
export function IconButton({ icon, label, compact, flip, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      class={`icon-button${compact ? " compact" : ""}`}
    >
      <Icon name={icon} flip={flip} />
    </button>
  );
}
