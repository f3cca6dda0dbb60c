/** Replaces and shows tokens. @module */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { RotatedView } from "../../shared/views.ts";
import { askToken } from "../frame/dialogs.ts";
import { requestAsOwner } from "../live/owner.ts";
import { expectSessionEnd } from "../live/stream.ts";
import { Button } from "../parts/button.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { SelectField, Switch } from "../parts/field.tsx";
import { Modal } from "../parts/modal.tsx";
import { tokenLabel } from "../../shared/token-labels.ts";
import { tokenRuleTexts, violatedRules } from "../../shared/token-rules.ts";
import { newTokenText, replaceText, tokenNoun, type Changeable } from "./token-texts.ts";

/** A token on the screen. */
interface ShownToken {
  readonly label: string;
  readonly token: string;
  readonly text: string;
  /** Seconds after which it disappears; undefined if it waits for "Done". */
  readonly seconds?: number;
}

const shownSeconds = 60;

/** The token that is on the screen. The page forgets it when the dialog closes. */
const shownToken = signal<ShownToken | undefined>(undefined);

/** Shows a secret in a dialog. */
export function showOnScreen(shown: ShownToken): void {
  shownToken.value = shown;
}

const gracePeriods: readonly (readonly [seconds: number, text: string])[] = [
  [0, "Immediately (after a leak)"],
  [60, "Over 1 minute"],
  [600, "Over 10 minutes"],
  [3600, "Over 1 hour"],
];

/** Choices in the dialog that replaces a token. */
class TokenChoice {
  readonly isOwn = signal(false);
  readonly text = signal("");
  readonly isInvalid = signal(false);
  readonly grace = signal(0);

  /** @returns `""` for a generated token, or undefined if the custom one is invalid. */
  value(): string | undefined {
    if (!this.isOwn.value) return "";
    const token = this.text.value.trim();
    if (violatedRules(token).length === 0) return token;
    this.isInvalid.value = true;
    document.getElementById("own-token")?.focus();
    return undefined;
  }
}

/** Asks for the new token or generates one, replaces the token and shows it. */
export async function replaceToken(name: Changeable, isNew: boolean): Promise<void> {
  const choice = new TokenChoice();
  const verb = isNew ? "Create" : "Replace";
  const answer = await askToken({
    title: isNew ? `Create the ${tokenNoun(name)}` : `Replace the ${tokenNoun(name)}?`,
    text: isNew ? "Clients need it to connect." : replaceText(name),
    verb,
    danger: !isNew,
    label: name === "launcher" ? "Current launcher token" : "Launcher token",
    fields: <ChoiceFields choice={choice} hasGrace={name === "pico" && !isNew} />,
    send(current) {
      const token = choice.value();
      if (token === undefined) return undefined;
      const request = requestAsOwner<RotatedView>("POST", "/api/token/rotate", {
        which: name,
        current,
        ...(token !== "" && { token }),
        ...(name === "pico" && { grace: choice.grace.value }),
      });
      expectSessionEnd(request);
      return request;
    },
  });
  if (answer && "body" in answer)
    showOnScreen({ label: tokenLabel(name), token: answer.body.token, text: newTokenText(name) });
}

/** Shows a token for a minute. */
export async function showToken(name: Exclude<Changeable, "launcher">): Promise<void> {
  const answer = await askToken({
    title: `Show the ${tokenNoun(name)}`,
    text: "The token appears on the screen. Make sure that no one else can see it.",
    verb: "Show",
    send: (current) =>
      requestAsOwner<{ token: string }>("POST", "/api/token/reveal", { which: name, current }),
  });
  if (answer && "body" in answer)
    showOnScreen({
      label: tokenLabel(name),
      token: answer.body.token,
      text: "Anyone with this token can connect as a client.",
      seconds: shownSeconds,
    });
}

function ChoiceFields({ choice, hasGrace }: { choice: TokenChoice; hasGrace: boolean }) {
  const { isOwn, text, isInvalid, grace } = choice;
  const [violated] = violatedRules(text.value.trim());
  return (
    <div class="stack">
      <label class="row" for="own-choice">
        <Switch
          id="own-choice"
          checked={isOwn.value}
          onChange={(isOn) => {
            isOwn.value = isOn;
          }}
        />
        Use my own token
      </label>
      {isOwn.value && (
        <div class="field">
          <label for="own-token">New token</label>
          <input
            class="input mono"
            id="own-token"
            autocomplete="off"
            autocapitalize="none"
            spellcheck={false}
            aria-describedby="own-rules"
            aria-invalid={(isInvalid.value && violated !== undefined) || undefined}
            value={text.value}
            onInput={(event) => {
              text.value = event.currentTarget.value;
            }}
          />
          <p class="hint" id="own-rules" role="status">
            {violated ? `Required: ${tokenRuleTexts[violated.id]}.` : "All rules are met."}
          </p>
        </div>
      )}
      {hasGrace && (
        <SelectField id="grace" label="Disconnect clients" options={gracePeriods} chosen={grace} />
      )}
    </div>
  );
}

/** Shows the token of `shownToken`, if there is one. */
export function ShownTokenDialog(): JSX.Element | null {
  const shown = shownToken.value;
  return shown ? <TokenOnScreen key={shown.token} shown={shown} /> : null;
}

function TokenOnScreen({ shown }: { readonly shown: ShownToken }): JSX.Element {
  const { label, token, text, seconds } = shown;
  const [left, setLeft] = useState(seconds ?? 0);
  const field = useRef<HTMLInputElement>(null);
  const close = (): void => {
    if (field.current) field.current.value = "";
    shownToken.value = undefined;
  };
  useEffect(() => {
    if (seconds === undefined) return undefined;
    const end = performance.now() + seconds * 1000;
    const timer = setInterval(() => {
      const remaining = Math.ceil((end - performance.now()) / 1000);
      setLeft(remaining);
      if (remaining <= 0) close();
    }, 500);
    return () => clearInterval(timer);
  }, []);
  return (
    <Modal label={label} onClose={close}>
      <div class="in">
        <h2>{label}</h2>
        <p>{text}</p>
        <input
          ref={field}
          class="input mono"
          readOnly
          aria-label={label}
          value={token}
          dir="ltr"
          onFocus={(event) => event.currentTarget.select()}
        />
        {seconds !== undefined && (
          <p class="hint" role="timer">
            Hidden again in {left} s.
          </p>
        )}
        <footer>
          <CopyButton text={token} />
          <Button kind="primary" data-autofocus onClick={close}>
            Done
          </Button>
        </footer>
      </div>
    </Modal>
  );
}
