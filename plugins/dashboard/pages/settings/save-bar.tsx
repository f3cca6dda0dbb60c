/** The bar that saves settings. @module */
import type { JSX } from "preact";
import { Button } from "../parts/button.tsx";
import { Notice } from "../parts/states.tsx";
import type { SettingsForm } from "./use-form.ts";

/** Stays at the bottom while something is unsaved. */
export function SaveBar({ form }: { readonly form: SettingsForm }): JSX.Element {
  const message = form.message.value;
  const changed = form.changed.value;
  const count = changed.length;
  const wrong = changed.filter(({ id }) => form.problems.value[id] !== undefined).length;
  const needs = wrong === 1 ? "1 value needs attention" : `${wrong} values need attention`;
  return (
    <>
      <div role="status">{message && <Notice tone={message.tone}>{message.text}</Notice>}</div>
      {count > 0 && (
        <div class="save" role="region" aria-label="Unsaved changes">
          <p>
            <b>{count === 1 ? "1 unsaved change" : `${count} unsaved changes`}</b>
            <small class={wrong > 0 ? "bad" : ""}>
              {wrong > 0 ? needs : "Takes effect immediately"}
            </small>
          </p>
          <Button onClick={() => form.discard()}>Discard</Button>
          <Button
            kind="primary"
            busy={form.isSaving.value && "Saving…"}
            aria-keyshortcuts="Control+S"
            onClick={() => form.save()}
          >
            Save changes
          </Button>
        </div>
      )}
    </>
  );
}
