/** Creates, rotates and revokes keys. @module */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import type {
  KeyInput,
  KeyProtocol,
  KeyScope,
  KeyView,
  NewKeyView,
} from "../../shared/key-views.ts";
import { keyRights, protocolNames, rightTexts } from "../../shared/key-views.ts";
import { askToken } from "../frame/dialogs.ts";
import { toast } from "../frame/toasts.ts";
import { requestAsOwner } from "../live/owner.ts";
import { FieldProblem, SelectField } from "../parts/field.tsx";
import { showOnScreen } from "./token-actions.tsx";

const ends: readonly (readonly [days: number | undefined, text: string])[] = [
  [undefined, "Never"],
  [7, "In 7 days"],
  [90, "In 90 days"],
  [365, "In a year"],
];

const graces: readonly (readonly [seconds: number, text: string])[] = [
  [0, "Immediately (after a leak)"],
  [3_600, "After 1 hour"],
  [86_400, "After 1 day"],
  [604_800, "After 7 days"],
];

const sessionChoices: readonly (readonly ["own" | "named" | "all", string])[] = [
  ["own", "Only its own"],
  ["named", "These, by name"],
  ["all", "All"],
];

/** Choices in the dialog that creates a key. */
class KeyChoice {
  readonly name = signal("");
  readonly isInvalid = signal(false);
  readonly scopes = signal<readonly KeyScope[]>(["read", "write"]);
  readonly sessions = signal<"own" | "all" | "named">("own");
  readonly names = signal("");
  readonly protocols = signal<readonly KeyProtocol[]>(["keys", "openai", "ai_sdk", "ag_ui"]);
  readonly days = signal<number | undefined>(undefined);

  /** @returns Undefined if a field is missing, which then shows the problem. */
  input(): KeyInput | undefined {
    const { name, scopes, sessions, names, protocols, days } = this;
    const listed = names.value.split(",").map((each) => each.trim());
    const isNamed = sessions.value === "named";
    const isComplete =
      name.value.trim() !== "" &&
      scopes.value.length > 0 &&
      protocols.value.length > 0 &&
      (!isNamed || listed.every((each) => each !== ""));
    this.isInvalid.value = !isComplete;
    if (!isComplete) return undefined;
    return {
      name: name.value.trim(),
      scopes: scopes.value,
      sessions: sessions.value === "named" ? listed : sessions.value,
      protocols: protocols.value,
      ...(days.value !== undefined && { expiresInS: days.value * 86_400 }),
    };
  }
}

/** Asks for the fields of a key, creates it and shows its secret. */
export async function createKey(refresh: () => Promise<unknown>): Promise<void> {
  const choice = new KeyChoice();
  const answer = await askToken<NewKeyView>({
    title: "Create a key",
    text: "One device or script uses it in place of the channel token.",
    verb: "Create",
    fields: <KeyFields choice={choice} />,
    send(current) {
      const input = choice.input();
      return input && requestAsOwner<NewKeyView>("POST", "/api/keys", { ...input, current });
    },
  });
  if (!answer || "error" in answer) return;
  show(answer.body);
  await refresh();
}

const show = ({ key, secret, closed = "" }: NewKeyView): void =>
  showOnScreen({
    label: `Key ${key.name}`,
    token: secret,
    text: `It may ${keyRights(key)}. Copy it now: it is not shown again. ${closed}`.trim(),
  });

export async function rotateKey(
  { id, name }: KeyView,
  refresh: () => Promise<unknown>,
): Promise<void> {
  const grace = signal(0);
  const answer = await askToken<NewKeyView>({
    title: `Replace the secret of ${name}?`,
    text: "The key keeps its name and rights, and receives a new secret.",
    verb: "Replace",
    danger: true,
    fields: (
      <SelectField
        id="key-grace"
        label="The old secret stops working"
        options={graces}
        chosen={grace}
      />
    ),
    send: (current) =>
      requestAsOwner<NewKeyView>("POST", `/api/keys/${id}/rotate`, {
        grace: grace.value,
        current,
      }),
  });
  if (!answer || "error" in answer) return;
  show(answer.body);
  await refresh();
}

export async function revokeKey(
  { id, name }: KeyView,
  refresh: () => Promise<unknown>,
): Promise<void> {
  const answer = await askToken<KeyView>({
    title: `Revoke ${name}?`,
    text: "Its connections close now. Answers that it has asked for go on.",
    verb: "Revoke",
    danger: true,
    send: (current) => requestAsOwner<KeyView>("DELETE", `/api/keys/${id}`, { current }),
    endsOn: ({ status }) => status === 404,
  });
  if (!answer) return;
  if ("error" in answer) toast({ text: answer.error.message, tone: "bad" });
  else toast({ text: `${name} revoked` });
  await refresh();
}

interface ChecksProps<T extends string> {
  readonly label: string;
  readonly texts: Readonly<Record<T, string>>;
  readonly chosen: readonly T[];
  readonly choose: (chosen: readonly T[]) => void;
}

function Checks<T extends string>({ label, texts, chosen, choose }: ChecksProps<T>): JSX.Element {
  return (
    <fieldset class="field">
      <legend>{label}</legend>
      <div class="row wrap">
        {(Object.entries(texts) as [T, string][]).map(([value, text]) => (
          <label key={value} class="row">
            <input
              type="checkbox"
              checked={chosen.includes(value)}
              onChange={({ currentTarget: { checked } }) => {
                const others = chosen.filter((each) => each !== value);
                choose(checked ? [...others, value] : others);
              }}
            />
            {text}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

function KeyFields({ choice }: { readonly choice: KeyChoice }): JSX.Element {
  const { name, scopes, sessions, names, protocols, days, isInvalid } = choice;
  return (
    <div class="stack">
      <div class="field">
        <label for="key-name">Name</label>
        <input
          class="input"
          id="key-name"
          maxLength={64}
          autocomplete="off"
          placeholder="Phone of Ann"
          value={name.value}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
      </div>
      <Checks
        label="Rights"
        texts={rightTexts}
        chosen={scopes.value}
        choose={(chosen) => {
          scopes.value = chosen;
        }}
      />
      <Checks
        label="Works for"
        texts={protocolNames}
        chosen={protocols.value}
        choose={(chosen) => {
          protocols.value = chosen;
        }}
      />
      <SelectField id="key-sessions" label="Sessions" options={sessionChoices} chosen={sessions}>
        {sessions.value === "named" && (
          <input
            class="input"
            aria-label="Names of sessions, with commas between"
            placeholder="lobby, team"
            value={names.value}
            onInput={(event) => {
              names.value = event.currentTarget.value;
            }}
          />
        )}
      </SelectField>
      <SelectField id="key-end" label="Ends" options={ends} chosen={days} />
      <FieldProblem
        text={isInvalid.value ? "Enter a name, and choose a right and a protocol." : undefined}
      />
    </div>
  );
}
