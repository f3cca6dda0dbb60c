/** The dialogs above the page: questions, the sheet "More", shortcuts, palette. @module */
import type { JSX } from "preact";
import { Button, IconButton, LinkButton } from "../parts/button.tsx";
import { Switch } from "../parts/field.tsx";
import { Modal } from "../parts/modal.tsx";
import { useSite } from "../site.tsx";
import { openDialogs, type Confirmation } from "./dialogs.ts";
import { closeLayer, layer } from "./layer-state.ts";
import { barPages, helpPages, mainPages } from "./navigation.ts";
import { Palette } from "./palette.tsx";
import { SignOut, ThemeSegment, useModifier } from "./rail.tsx";
import { areShortcutsOn, setShortcuts } from "./shortcuts.ts";
import { TokenDialog } from "./token-dialog.tsx";

/** Draws the open dialogs. */
export function DialogLayers(): JSX.Element {
  return (
    <>
      {layer.value === "more" && <MoreSheet />}
      {layer.value === "shortcuts" && <ShortcutSheet />}
      {layer.value === "palette" && <Palette />}
      {openDialogs.value.map(({ id, question, done }) =>
        "send" in question ? (
          <TokenDialog key={id} {...question} done={done} />
        ) : (
          <ConfirmDialog key={id} {...question} done={done} />
        ),
      )}
    </>
  );
}

type ConfirmProps = Confirmation & { readonly done: (yes: boolean) => void };

function ConfirmDialog({ title, text, verb, danger, done }: ConfirmProps): JSX.Element {
  const submit = (event: Event): void => {
    event.preventDefault();
    done(true);
  };
  return (
    <Modal label={title} onClose={() => done(false)}>
      <form onSubmit={submit}>
        <h2>{title}</h2>
        <p class="muted">{text}</p>
        <footer>
          <Button data-autofocus={danger || undefined} onClick={() => done(false)}>
            Cancel
          </Button>
          <Button
            type="submit"
            kind={danger ? "danger" : "primary"}
            data-autofocus={danger ? undefined : true}
          >
            {verb}
          </Button>
        </footer>
      </form>
    </Modal>
  );
}

function MoreSheet(): JSX.Element {
  const { url, route, version } = useSite();
  return (
    <Modal label="More" kind="drawer" onClose={closeLayer}>
      <nav class="in" aria-label="More">
        <div class="row">
          <h2 class="grow">More</h2>
          <IconButton icon="x" label="Close" onClick={closeLayer} />
        </div>
        <ul class="menu-list">
          {[...mainPages.slice(barPages), ...helpPages].map(({ path, name, icon }) => (
            <li key={path}>
              <LinkButton
                kind="ghost"
                block
                icon={icon}
                href={url(path)}
                aria-current={route === path ? "page" : undefined}
              >
                <span class="grow">{name}</span>
              </LinkButton>
            </li>
          ))}
        </ul>
        <div class="row">
          <span class="grow muted">Theme</span>
          <ThemeSegment />
        </div>
        <SignOut full />
        <p class="muted xs">Doorward {version}</p>
      </nav>
    </Modal>
  );
}

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

function ShortcutSheet(): JSX.Element {
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
