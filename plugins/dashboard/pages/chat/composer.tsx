/** The field for a message, with its files, and the button that sends or stops. @module */
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { onDemand } from "../live/on-demand.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { FieldProblem } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { acceptedTypes } from "./files/attachments.ts";
import { DropTarget, LongPaste } from "./files/drop-target.tsx";
import type { Conversation } from "./state/conversation.ts";
import type { ShownConversation } from "./state/store.ts";
import { canEdit, isInConversation, type UserMessage } from "./state/thread.ts";
import { focusField, writingIn, type Writing } from "./state/unsent.ts";
import { selectPath } from "./state/versions.ts";

const useChosen = onDemand(() => import("./files/chosen.tsx"));

/** Saves the message when the page is hidden, and ends an edit when the conversation is left. */
function useLeaving(writing: Writing, { key }: Conversation): void {
  useLayoutEffect(() => {
    const leave = (): void => writing.leave();
    const save = (): void => writing.own.saveNow();
    addEventListener("pagehide", leave);
    document.addEventListener("visibilitychange", save);
    focusField();
    return () => {
      removeEventListener("pagehide", leave);
      document.removeEventListener("visibilitychange", save);
      leave();
    };
  }, [writing, key]);
}

/** The last message of the owner, unless it can't be edited. */
function lastOwn({ isReadOnly, thread, choices }: Conversation): UserMessage | undefined {
  if (isReadOnly) return undefined;
  const { messages } = selectPath(thread.value.messages, choices.value);
  const own = messages.findLast((one) => one.kind === "user" && one.sender === undefined);
  return own?.kind === "user" && canEdit(own) ? own : undefined;
}

/** Enter sends. A keyboard on the screen has no Shift key for a new line. */
const isSendKey = ({ key, shiftKey }: KeyboardEvent): boolean =>
  key === "Enter" && !shiftKey && !matchMedia("(pointer: coarse)").matches;

export function Composer({ store, conversation }: ShownConversation): JSX.Element {
  const { name, maxFileBytes } = store;
  /** Other channels accept no files here. */
  const isTextOnly = conversation.isReadOnly;
  const writing = writingIn({ store, conversation });
  useLeaving(writing, conversation);
  const { shown } = writing;
  const { replaced: edited } = shown;
  const { text, files } = shown.draft.value;
  const add = (chosen: readonly File[]) => shown.add(chosen, maxFileBytes);
  const submit = () => writing.submit(store, conversation);
  const type = (changed: string): void => {
    shown.type(changed);
    conversation.showTyping();
  };
  const what = maxFileBytes === undefined ? "images" : "files";
  const chosen = useChosen(files.length > 0);
  const { contextUse } = conversation.thread.value;
  const isEmpty = text.trim() === "" && files.length === 0;
  const isWorking = useIsWorking(conversation);
  const canStop = isEmpty && isWorking;
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (event.key === "Escape" && edited) {
      event.preventDefault();
      writing.endEdit();
    }
    if (event.key === "ArrowUp" && text === "" && files.length === 0) {
      event.preventDefault();
      const last = lastOwn(conversation);
      if (last) writing.edit(last);
    }
    if (!isSendKey(event)) return;
    event.preventDefault();
    void submit();
  };
  const onSubmit = (event: SubmitEvent): void => {
    event.preventDefault();
    if (canStop) conversation.stop();
    else void submit();
  };
  return (
    <div class="composer">
      <form class="composer-in" onSubmit={onSubmit}>
        <FieldProblem text={shown.problem.value} />
        {edited && <EditNote isKept={isInConversation(edited)} cancel={() => writing.endEdit()} />}
        {!isTextOnly && <DropTarget add={add} what={what} />}
        {shown.isWaiting.value && <WaitNote cancel={() => shown.cancel()} />}
        {!isTextOnly && maxFileBytes !== undefined && (
          <LongPaste text={text} setText={type} add={add} />
        )}
        <div class="box">
          {chosen && <chosen.Chosen conversation={conversation} unsent={shown} />}
          <textarea
            id="message"
            data-main-field
            rows={1}
            maxLength={1_000_000}
            aria-label="Message"
            placeholder={name === "Application" ? "Message" : `Message ${name}`}
            autocomplete="off"
            dir="auto"
            value={text}
            onInput={({ currentTarget }) => type(currentTarget.value)}
            onKeyDown={onKeyDown}
          />
          <div class="bar">
            {!isTextOnly && <Picker add={add} what={what} />}
            {contextUse !== undefined && <ContextUse share={contextUse} />}
            <span class="tip hide-phone">
              <kbd>Enter</kbd> to send
            </span>
            <SendButton canStop={canStop} isDisabled={isEmpty} />
          </div>
        </div>
      </form>
    </div>
  );
}

function useIsWorking({ thread }: Conversation): boolean {
  const { runs, canStop } = thread.value;
  return canStop && [...runs.values()].some(({ endedAt }) => endedAt === undefined);
}

function SendButton({ canStop, isDisabled }: { canStop: boolean; isDisabled: boolean }) {
  if (canStop)
    return (
      <button class="send" aria-label="Stop" title="Stop (Esc)">
        <Icon name="square" small />
      </button>
    );
  return (
    <button class="send" aria-label="Send" title="Send (Enter)" disabled={isDisabled}>
      <Icon name="arrow-up" />
    </button>
  );
}

interface PickerProps {
  readonly add: (files: readonly File[]) => unknown;
  /** Attachable content. */
  readonly what: "images" | "files";
}

function Picker({ add, what }: PickerProps): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={field}
        type="file"
        multiple
        hidden
        aria-label={what === "images" ? "Images" : "Files"}
        accept={what === "images" ? acceptedTypes.join(",") : undefined}
        onChange={({ currentTarget }) => {
          add([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
      <IconButton
        icon="paperclip"
        label={`Attach ${what}`}
        onClick={() => field.current?.click()}
      />
    </>
  );
}

interface EditNoteProps {
  /** The message that is being changed stays as an earlier version. */
  readonly isKept: boolean;
  readonly cancel: () => void;
}

/** Shown while the composer has a sent message. */
function EditNote({ isKept, cancel }: EditNoteProps): JSX.Element {
  return (
    <p class="earlier">
      <span class="grow">Editing a message.{isKept && " Its earlier version is kept."}</span>
      <Button kind="ghost" compact onClick={cancel}>
        Cancel
      </Button>
    </p>
  );
}

/** Shown while a message waits for its uploads. */
function WaitNote({ cancel }: { readonly cancel: () => void }): JSX.Element {
  return (
    <p class="earlier" role="status">
      <span class="grow">The message is sent when the upload is complete.</span>
      <Button kind="ghost" compact onClick={cancel}>
        Don't send yet
      </Button>
    </p>
  );
}

const circumference = 2 * Math.PI * 7;
/** From here on, the application may soon forget the beginning. */
const nearlyFull = 0.8;

/** How much of its context the application uses, if it says so. */
function ContextUse({ share }: { readonly share: number }): JSX.Element {
  const text = `${Math.round(share * 100)}% of context`;
  return (
    <span class={`meter${share >= nearlyFull ? " warn" : ""}`}>
      <svg width="16" height="16" viewBox="0 0 20 20" aria-hidden="true">
        <circle class="track" cx="10" cy="10" r="7" />
        <circle
          class="value"
          cx="10"
          cy="10"
          r="7"
          stroke-dasharray={`${share * circumference} ${circumference}`}
          stroke-dashoffset={circumference / 4}
        />
      </svg>
      <span class="num">{text}</span>
    </span>
  );
}
