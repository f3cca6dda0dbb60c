/** The field for a message, with its files, and the button that sends or stops. @module */
import type { JSX, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { isComposing } from "../live/composition.ts";
import { onDemand } from "../live/on-demand.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { FieldProblem } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { acceptedTypes } from "./files/attachments.ts";
import { DropTarget, Pasted } from "./files/drop-target.tsx";
import type { Conversation } from "./state/conversation.ts";
import type { ShownConversation } from "./state/store.ts";
import { canEdit, isInConversation, type UserMessage } from "./state/thread.ts";
import { focusField, writingIn, type Writing } from "./state/unsent.ts";
import { selectPath } from "./state/versions.ts";

const useCommands = onDemand(() => import("./commands.tsx"));
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

/** Fits the field to its text, for browsers without `field-sizing`. */
function useFittedField(text: string): RefObject<HTMLTextAreaElement | null> {
  const area = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const field = area.current;
    if (!field || CSS.supports("field-sizing", "content")) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }, [text]);
  return area;
}

/** The last message of the owner, unless it can't be edited. */
function lastOwn({ isReadOnly, thread, choices }: Conversation): UserMessage | undefined {
  if (isReadOnly) return undefined;
  const { messages } = selectPath(thread.value.messages, choices.value);
  const own = messages.findLast((one) => one.kind === "user" && one.sender === undefined);
  return own?.kind === "user" && canEdit(own) ? own : undefined;
}

const isTouch = (): boolean => matchMedia("(pointer: coarse)").matches;

/** Enter sends, except on the screen, where no other key starts a line. Ctrl+Enter always does. */
const isSendKey = ({ key, shiftKey, ctrlKey, metaKey }: KeyboardEvent): boolean =>
  key === "Enter" && (ctrlKey || metaKey || (!shiftKey && !isTouch()));

const onSubmit =
  (submit: () => unknown) =>
  (event: SubmitEvent): void => {
    event.preventDefault();
    submit();
  };

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
  const area = useFittedField(text);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (isComposing(event)) return;
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
  return (
    <div class="composer">
      <form class="composer-in" onSubmit={onSubmit(submit)}>
        <FieldProblem text={shown.problem.value} />
        {edited && <EditNote isKept={isInConversation(edited)} cancel={() => writing.endEdit()} />}
        {!isTextOnly && <DropTarget add={add} what={what} />}
        {shown.isWaiting.value && <WaitNote cancel={() => shown.cancel()} />}
        {!isTextOnly && (
          <Pasted text={text} setText={type} add={add} canAttach={maxFileBytes !== undefined} />
        )}
        <Commands text={text} type={type} />
        <div class="box">
          {chosen && <chosen.Chosen conversation={conversation} unsent={shown} />}
          <textarea
            ref={area}
            id="message"
            data-main-field
            rows={1}
            maxLength={1_000_000}
            aria-label="Message"
            placeholder={name === "Application" ? "Message" : `Message ${name}`}
            autocomplete="off"
            enterkeyhint={isTouch() ? "enter" : "send"}
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
            {isWorking && <StopButton stop={() => conversation.stop()} />}
            <button class="send" aria-label="Send" title="Send (Enter)" disabled={isEmpty}>
              <Icon name="arrow-up" />
            </button>
          </div>
        </div>
      </form>
    </div>
  );
}

interface CommandsProps {
  readonly text: string;
  readonly type: (text: string) => void;
}

/** The commands of the application, while the message begins with a slash. */
function Commands(props: CommandsProps): JSX.Element | null {
  const list = useCommands(props.text.startsWith("/"));
  return list ? <list.CommandList {...props} /> : null;
}

function useIsWorking({ thread }: Conversation): boolean {
  const { runs, canStop } = thread.value;
  return canStop && [...runs.values()].some(({ endedAt }) => endedAt === undefined);
}

function StopButton({ stop }: { readonly stop: () => void }): JSX.Element {
  return (
    <button type="button" class="send stop" aria-label="Stop" title="Stop (Esc)" onClick={stop}>
      <Icon name="square" small />
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
