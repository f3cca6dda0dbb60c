/** Parts of the pages that need no sign-in: the card, token fields and failures. @module */
import type { ComponentChildren, ComponentProps, JSX } from "preact";
import { Secret } from "../parts/field.tsx";
import { Mark } from "../parts/icon.tsx";
import { useSite } from "../site.tsx";

interface DoorwayProps {
  /** Wider, for forms with several fields. */
  readonly isRoomy?: boolean;
  readonly children: ComponentChildren;
}

/** The card in the middle of the page: logo, heading and content. */
export function Doorway({ isRoomy = false, children }: DoorwayProps): JSX.Element {
  const { title } = useSite();
  return (
    <div class={isRoomy ? "doorway roomy" : "doorway"}>
      <p class="brand">
        <Mark size={56} />
        <span>Doorward</span>
      </p>
      <h1>{title}</h1>
      {children}
    </div>
  );
}

type SecretProps = ComponentProps<typeof Secret>;

interface TokenFieldProps extends Omit<SecretProps, "id" | "secret" | "name"> {
  /** Id and form name. */
  readonly id: string;
  readonly label: string;
  readonly hint?: string;
  /** Id of an element that describes the field in addition to its hint. */
  readonly describedBy?: string | undefined;
}

/** A field for a token, with its label and a button that shows the typed text. */
export function TokenField({ id, label, hint, describedBy, ...rest }: TokenFieldProps) {
  const described = [describedBy, hint && `${id}-hint`].filter(Boolean).join(" ");
  return (
    <div class="field" data-field={id}>
      <label for={id}>{label}</label>
      <Secret
        id={id}
        name={id}
        secret={label.toLowerCase()}
        aria-describedby={described || undefined}
        {...rest}
      />
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** The user name for password managers. It has no `name`, so the form does not send it. */
export function AccountName(): JSX.Element {
  return <input type="text" autocomplete="username" value="launcher" readOnly hidden />;
}

/** The reason why the last attempt failed. */
export interface Failure {
  readonly text: string;
  /** The wait until the address may try again. */
  readonly retryAfterSeconds?: number | undefined;
}

/**
 * Shows a failure. Without one it is hidden, and the script of the page can fill it. Screen readers
 * do not announce each change of a `timer`; the script announces the end in the status next to it.
 */
export function FailureNotice({ failure }: { readonly failure: Failure | undefined }) {
  const seconds = failure?.retryAfterSeconds && Math.ceil(failure.retryAfterSeconds);
  return (
    <div class="notice bad" data-failure hidden={!failure}>
      <div class="grow">
        <p id="failure" role="alert">
          {failure?.text}
        </p>
        <p>
          <span role="timer" data-countdown={seconds}>
            {seconds && `Try again in ${seconds} s.`}
          </span>
          <span role="status" data-countdown-end />
        </p>
      </div>
    </div>
  );
}
