/** The buttons of an approval. Loaded after the page. @module */
import type { JSX } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { visibleText } from "../../../shared/visible-text.ts";
import { Button } from "../../parts/button.tsx";
import { Menu } from "../../parts/menu.tsx";
import type { AnswerProps } from "./acts.ts";

/** The first allowing option and the first one that denies; lasting and other ones in a menu. */
export function Approval({ asked, isSending, send }: AnswerProps): JSX.Element {
  const [isReasoning, setReasoning] = useState(false);
  const { options = [] } = asked;
  const allow = options.find(({ effect, lasting }) => effect === "allow" && lasting !== true);
  const deny = options.find(({ effect, lasting }) => effect === "deny" && lasting !== true);
  const direct = options.filter((option) => option === allow || option === deny);
  const others = options.filter((option) => !direct.includes(option));
  const items = [
    ...others.map(({ id, label, effect }) => ({
      name: visibleText(label),
      icon: effect === "allow" ? "circle-check" : "circle-x",
      act: () => send({ option: id }),
    })),
    ...(deny
      ? [{ name: "Deny with a reason…", icon: "pencil", act: () => setReasoning(true) }]
      : []),
  ];
  if (isReasoning && deny)
    return (
      <Reason
        isSending={isSending}
        deny={(text) => send({ option: deny.id, ...(text !== "" && { text }) })}
        back={() => setReasoning(false)}
      />
    );
  return (
    <div class="row wrap">
      {direct.map((option) => (
        <Button
          key={option.id}
          kind={option === allow ? "primary" : "plain"}
          title={option.description && visibleText(option.description)}
          aria-disabled={isSending}
          onClick={() => send({ option: option.id })}
        >
          <span dir="auto">{visibleText(option.label)}</span>
        </Button>
      ))}
      {items.length > 0 && <Menu label="More answers" items={items} />}
    </div>
  );
}

interface ReasonProps {
  readonly isSending: boolean;
  readonly deny: (text: string) => void;
  readonly back: () => void;
}

/** The server accepts 4 KiB: as many letters of any script. */
const maxReason = 1_000;

/** Enter denies here. It never allows. */
function Reason({ isSending, deny, back }: ReasonProps): JSX.Element {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        deny(field.current!.value.trim());
      }}
    >
      <p class="field">
        <label for={id}>Reason</label>
        <input class="input" id={id} ref={field} maxLength={maxReason} autocomplete="off" />
      </p>
      <div class="row wrap">
        <Button type="submit" busy={isSending && "Sending…"}>
          Deny with this reason
        </Button>
        <Button kind="ghost" onClick={back}>
          Back
        </Button>
      </div>
    </form>
  );
}
