/** The commands of the application, offered while a message begins with a slash. @module */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import type { StatusView } from "../../shared/views.ts";
import { sendRequest } from "../live/api.ts";
import { isComposing } from "../live/composition.ts";

type Commands = NonNullable<NonNullable<StatusView["application"]>["commands"]>;

const maxShown = 8;
/** The commands that were read last. The next slash reads them again. */
let known: Commands = [];

/** @returns The commands that begin with the words after the slash, then those that have them. */
function findCommands(commands: Commands, text: string): Commands {
  const [, typed] = /^\/(\S*)$/.exec(text) ?? [];
  if (typed === undefined) return [];
  const word = typed.toLowerCase();
  const isAt = (at: (name: string) => boolean): Commands =>
    commands.filter(({ name }) => at(name.toLowerCase()));
  const first = isAt((name) => name.startsWith(word));
  const others = isAt((name) => !name.startsWith(word) && name.includes(word));
  return [...first, ...others].slice(0, maxShown);
}

interface CommandListProps {
  /** The text of the message. */
  readonly text: string;
  readonly type: (text: string) => void;
}

/** Arrow keys choose, Enter and Tab take the command, Escape closes the list. */
export function CommandList({ text, type }: CommandListProps): JSX.Element | null {
  const [commands, setCommands] = useState(known);
  const [chosen, setChosen] = useState(0);
  const [closedFor, setClosedFor] = useState<string>();
  const isBegun = text.startsWith("/");
  useEffect(() => {
    if (!isBegun) return;
    void sendRequest<Pick<StatusView, "application">>("GET", "/api/application").then((result) => {
      if (!("body" in result)) return;
      known = result.body.application?.commands ?? [];
      setCommands(known);
    });
  }, [isBegun]);
  const found = closedFor === text ? [] : findCommands(commands, text);
  const at = Math.min(chosen, found.length - 1);
  const take = (name: string): void => {
    type(`/${name} `);
    setChosen(0);
    document.getElementById("message")?.focus();
  };
  // Before the next key: it must find what the last one has chosen.
  useLayoutEffect(() => {
    const field = document.getElementById("message");
    if (!field || found.length === 0) return;
    const onKeyDown = (event: KeyboardEvent): void => {
      if (isComposing(event)) return;
      const { key, shiftKey } = event;
      const last = found.length - 1;
      if (key === "ArrowDown") setChosen(at === last ? 0 : at + 1);
      else if (key === "ArrowUp") setChosen(at <= 0 ? last : at - 1);
      else if (key === "Escape") setClosedFor(text);
      // The whole name is there: Enter sends it.
      else if (key === "Enter" && !shiftKey && text !== `/${found[at]!.name}`)
        take(found[at]!.name);
      else if (key === "Tab" && !shiftKey) take(found[at]!.name);
      else return;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    field.addEventListener("keydown", onKeyDown, true);
    field.setAttribute("aria-controls", "commands");
    field.setAttribute("aria-activedescendant", `command-${at}`);
    return () => {
      field.removeEventListener("keydown", onKeyDown, true);
      field.removeAttribute("aria-controls");
      field.removeAttribute("aria-activedescendant");
    };
  });
  if (found.length === 0) return null;
  return (
    <div class="commands" role="listbox" id="commands" aria-label="Commands">
      {found.map(({ name, description, hint }, index) => (
        <div
          key={name}
          role="option"
          id={`command-${index}`}
          aria-selected={index === at}
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => take(name)}
        >
          <b dir="ltr">/{name}</b>
          {hint !== undefined && <span class="muted"> {hint}</span>}
          {description !== undefined && <span class="cut muted">{description}</span>}
        </div>
      ))}
    </div>
  );
}
