/** One setting: name, sentence, key, control, and what is wrong. @module */
import type { JSX } from "preact";
import { Button } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { Control } from "./control.tsx";
import { hasConflict, isChanged, read, shownDraft, type Draft, type Setting } from "./form.ts";
import { isSame, valueLabel } from "./schema.ts";
import type { SettingsForm } from "./use-form.ts";

interface RowProps {
  readonly setting: Setting;
  readonly form: SettingsForm;
}

const kinds: Readonly<Record<string, string>> = {
  array: "wide",
  string: "wide",
  boolean: "toggle",
};

/** A setting that this page can change. */
export function SettingRow({ setting, form }: RowProps): JSX.Element {
  const { id, name, schema } = setting;
  const drafts = form.drafts.value;
  const draft = shownDraft(setting, drafts);
  const problem = form.problems.value[id];
  const changed = isChanged(setting, drafts) ? "changed" : "";
  return (
    <div class={`set ${changed} ${kinds[schema.type ?? ""] ?? ""}`}>
      <div>
        <label for={id}>{name}</label>
        <Hint setting={setting} />
      </div>
      <div class="control">
        <DefaultButton setting={setting} draft={draft} form={form} />
        <Control
          setting={setting}
          draft={draft}
          isInvalid={problem !== undefined}
          edit={(change) => form.edit(setting, change)}
          check={() => form.check(setting)}
        />
      </div>
      <p class="problem" id={`${id}-problem`} role="status">
        {problem !== undefined && (
          <>
            <Icon name="circle-x" small /> {problem}
          </>
        )}
      </p>
      {hasConflict(setting, drafts) && <Conflict setting={setting} draft={draft} form={form} />}
    </div>
  );
}

function Hint({ setting: { id, key, schema } }: { readonly setting: Setting }): JSX.Element {
  return (
    <p class="hint" id={`${id}-hint`}>
      {schema.description} <code title="Name in the file">{key}</code>
    </p>
  );
}

interface DraftProps extends RowProps {
  readonly draft: Draft;
}

/** Shown while the field has another value than the default. */
function DefaultButton({ setting, draft, form }: DraftProps): JSX.Element | null {
  const { default: preset, unit, type } = setting.schema;
  const { value, problem } = read(setting, draft);
  const isDefault = problem === undefined && isSame(value, preset);
  if (preset === undefined || preset === "" || type === "boolean" || isDefault) return null;
  return (
    <Button
      kind="ghost"
      compact
      title={`Default: ${valueLabel(preset, unit)}`}
      aria-label={`Default of ${setting.name}: ${valueLabel(preset, unit)}`}
      onClick={() => {
        form.reset(setting, preset);
        document.getElementById(setting.id)?.focus();
      }}
    >
      Default
    </Button>
  );
}

/** Shows both values if the file changed while the person was typing. */
function Conflict({ setting, draft, form }: DraftProps): JSX.Element {
  const { unit } = setting.schema;
  const typed = read(setting, draft);
  const mine = typed.problem === undefined ? valueLabel(typed.value, unit) : (draft.text ?? "");
  const act = (run: () => void) => () => {
    run();
    document.getElementById(setting.id)?.focus();
  };
  return (
    <div class="notice warn" role="status">
      <Icon name="triangle-alert" />
      <div class="grow">
        <p>
          The file now contains {valueLabel(setting.stored, unit)}. You typed {mine}.
        </p>
        <div class="row wrap">
          <Button compact onClick={act(() => form.keep(setting))}>
            Keep mine
          </Button>
          <Button compact onClick={act(() => form.reset(setting))}>
            Use file value
          </Button>
        </div>
      </div>
    </div>
  );
}

/** A setting that this page cannot change, with the reason. */
export function FixedRow({ setting }: { readonly setting: Setting }): JSX.Element {
  return (
    <div class="set fixed" id={setting.id} tabIndex={-1}>
      <div>
        <p class="label">{setting.name}</p>
        <Hint setting={setting} />
        <p class="hint">{setting.fixedBy}</p>
      </div>
      <div class="control">
        <span class="mono">{valueLabel(setting.stored, setting.schema.unit)}</span>
      </div>
    </div>
  );
}
