/** Everything above the page: toasts, questions, the sheet "More", shortcuts, palette. @module */
import type { JSX } from "preact";
import { Button, IconButton, LinkButton } from "../parts/button.tsx";
import { Modal } from "../parts/modal.tsx";
import { signInPrompt } from "../live/owner.ts";
import { useSite } from "../site.tsx";
import { openDialogs, type Confirmation } from "./dialogs.ts";
import { closeLayer, layer } from "./layer-state.ts";
import { barPages, helpPages, mainPages } from "./navigation.ts";
import { forgetChoices } from "./palette-recent.ts";
import { Palette } from "./palette.tsx";
import { SignOut, ThemeSegment } from "./rail.tsx";
import { ShortcutSheet } from "./shortcut-sheet.tsx";
import { SignInDialog } from "./sign-in-dialog.tsx";
import { onSignedOut } from "./sign-out.ts";
import { Toasts } from "./toast-list.tsx";
import { TokenDialog } from "./token-dialog.tsx";

onSignedOut(forgetChoices);

/** Draws the toasts and the open dialogs. */
export function DialogLayers(): JSX.Element {
  return (
    <>
      <Toasts />
      {layer.value === "more" && <MoreSheet />}
      {layer.value === "shortcuts" && <ShortcutSheet />}
      {layer.value === "palette" && <Palette />}
      {openDialogs.value.map(({ id, confirmation, token }) =>
        confirmation ? (
          <ConfirmDialog key={id} {...confirmation} />
        ) : token ? (
          <TokenDialog key={id} {...token} />
        ) : null,
      )}
      {signInPrompt.value && <SignInDialog {...signInPrompt.value} />}
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
