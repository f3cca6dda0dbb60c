/** The list of keyboard shortcuts. @module */
import type { JSX } from "preact";
import { IconButton } from "../parts/button.tsx";
import { Switch } from "../parts/field.tsx";
import { Modal } from "../parts/modal.tsx";
import { closeLayer } from "./layer-state.ts";
import { useModifier } from "./rail.tsx";
import { areShortcutsOn, setShortcuts } from "./shortcuts.ts";

type Row = readonly [what: string, ...keys: string[]];

const sections = (modifier: string): readonly (readonly [string, readonly Row[]])[] => [
  [
    "Anywhere",
    [
      ["Search or jump to", modifier, "K"],
      ["Go to a page", "g", "then c o l a y s d"],
      ["Main field of the page", "/"],
      ["Change theme", "t"],
      ["This list", "?"],
    ],
  ],
  [
    "Chat",
    [
      ["New conversation", "n"],
      ["Send", "Enter"],
      ["New line", "⇧", "Enter"],
      ["Stop the answer", "Esc"],
      ["Edit the last message", "↑"],
      ["Next open question", "q"],
      ["Inspect the request", "i"],
    ],
  ],
  [
    "Activity",
    [
      ["Follow new lines", "f"],
      ["Next or previous line", "j", "k"],
      ["Open a line", "Enter"],
    ],
  ],
  ["Settings", [["Save", modifier, "S"]]],
];

export function ShortcutSheet(): JSX.Element {
  return (
    <Modal label="Keyboard shortcuts" kind="wide" onClose={closeLayer}>
      <div class="in">
        <div class="row">
          <h2 class="grow">Keyboard shortcuts</h2>
          <IconButton icon="x" label="Close" onClick={closeLayer} data-autofocus />
        </div>
        <div class="sheet">
          {sections(useModifier()).map(([name, rows]) => (
            <section key={name}>
              <h3>{name}</h3>
              <ul>
                {rows.map(([what, ...keys]) => (
                  <li key={what}>
                    <span class="muted">{what}</span>
                    <span>
                      {keys.map((key) => (
                        <kbd key={key}>{key}</kbd>
                      ))}
                    </span>
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </div>
        <label class="row">
          <Switch checked={areShortcutsOn.value} onChange={setShortcuts} />
          Shortcuts with a single key
        </label>
      </div>
    </Modal>
  );
}
