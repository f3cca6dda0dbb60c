/** The field for a message, with its files, and the button that sends or stops. @module */
import type { JSX, RefObject } from "preact";
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";
import { onDemand } from "../live/on-demand.ts";
import { Button, IconButton } from "../parts/button.tsx";
import { FieldProblem } from "../parts/field.tsx";
import { Icon } from "../parts/icon.tsx";
import { acceptedTypes, readFiles } from "./files/attachments.ts";
import { DropTarget, LongPaste } from "./files/drop-target.tsx";
import type { Conversation } from "./state/conversation.ts";
import {
  emptyDraft,
  keepText,
  loadDraft,
  saveDraft,
  withMessage,
  type Draft,
  type DraftFile,
} from "./state/drafts.ts";
import type { ShownConversation } from "./state/store.ts";
import { canEdit, isInConversation, type UserMessage } from "./state/thread.ts";
import { selectPath } from "./state/versions.ts";

/** Acts of other parts of the page on the composer. */
export interface ComposerHandle {
  /** Shows a sent message for a change. The unsent one returns afterwards. */
  edit(message: UserMessage): void;
  /** Puts a withdrawn message before the unsent text. */
  restore(message: UserMessage): void;
  /** Focuses the field, unless that opens a keyboard. */
  focus(): void;
}

interface ComposerProps extends ShownConversation {
  readonly handle: RefObject<ComposerHandle | null>;
}

const useChosen = onDemand(() => import("./files/chosen.tsx"));
const uploadsPart = onDemand(() => import("./files/uploads.ts"));

const saveDelayMs = 300;

/** The draft of a conversation. It is saved shortly after each change of the text. */
function useDraft(session: string) {
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const unsaved = useRef<Draft>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    let isCurrent = true;
    if (!unsaved.current) setDraft(emptyDraft);
    void loadDraft(session).then((loaded) => {
      if (isCurrent && !unsaved.current) setDraft(loaded);
    });
    const save = (): void => {
      clearTimeout(timer.current);
      if (!unsaved.current) return;
      keepText(session, unsaved.current.text);
      void saveDraft(session, unsaved.current);
      unsaved.current = undefined;
    };
    addEventListener("pagehide", save);
    document.addEventListener("visibilitychange", save);
    return () => {
      isCurrent = false;
      save();
      removeEventListener("pagehide", save);
      document.removeEventListener("visibilitychange", save);
    };
  }, [session]);
  const change = (next: Draft): void => {
    const delayMs = next.files === draft.files ? saveDelayMs : 0;
    setDraft(next);
    unsaved.current = next;
    clearTimeout(timer.current);
    timer.current = setTimeout(async () => {
      await saveDraft(session, next);
      if (unsaved.current === next) unsaved.current = undefined;
    }, delayMs);
  };
  return [draft, change] as const;
}

/** The newest value, for functions that outlive the drawing in which they were made. */
function useLatest<T>(value: T): RefObject<T> {
  const ref = useRef(value);
  useLayoutEffect(() => {
    ref.current = value;
  });
  return ref;
}

const notUploaded = (name: string): string =>
  `The message waits: ${name} is not uploaded. Remove it or retry.`;

/** Does nothing on a phone, where the keyboard would open. */
function focusGently(area: HTMLTextAreaElement | null): void {
  if (matchMedia("(hover: hover)").matches) area?.focus({ preventScroll: true });
}

/** Name of the draft: the session, or one name for all new conversations. */
function draftNameOf({ store, conversation }: ShownConversation): string {
  return store.place.value.isNew ? "new" : conversation.key;
}

/** The sent message that is being changed, and its new version. The unsent one stays apart. */
interface Edited {
  readonly message: UserMessage;
  readonly draft: Draft;
}

/**
 * The message in the composer: the unsent one, or the new version of a sent one. If the
 * conversation or the page is left, the new version becomes part of the unsent one.
 */
function useShown(conversation: Conversation, draftName: string) {
  const [draft, setDraft] = useDraft(draftName);
  const [edited, setEdited] = useState<Edited>();
  const latest = useLatest({ conversation, draft, draftName, setDraft, edited });
  const showEdited = (next: Edited | undefined): void => {
    latest.current = { ...latest.current, edited: next };
    setEdited(next);
  };
  const changeUnsent = (next: Draft): void => {
    latest.current = { ...latest.current, draft: next };
    latest.current.setDraft(next);
  };
  const change = (next: Draft): void => {
    const { edited: present } = latest.current;
    if (present) showEdited({ ...present, draft: next });
    else changeUnsent(next);
  };
  useLayoutEffect(() => {
    const leave = (): void => {
      const { edited: left, draft: unsent } = latest.current;
      showEdited(undefined);
      if (!left || left.draft.text === left.message.content) return;
      changeUnsent(withMessage(unsent, { content: left.draft.text, files: left.draft.files }));
    };
    addEventListener("pagehide", leave);
    return () => {
      removeEventListener("pagehide", leave);
      leave();
    };
  }, [conversation.key]);
  const present = (): Draft => latest.current.edited?.draft ?? latest.current.draft;
  return {
    shown: edited?.draft ?? draft,
    edited,
    showEdited,
    present,
    change,
    changeUnsent,
    latest,
  };
}

/** The message of the composer, and the acts on it. */
function useComposer({ store, conversation, handle }: ComposerProps) {
  const draftName = draftNameOf({ store, conversation });
  const { shown, edited, showEdited, present, change, changeUnsent, latest } = useShown(
    conversation,
    draftName,
  );
  const [problem, setProblem] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  const uploads = useUploads();
  /** Files that are being read; a message waits for them. */
  const reading = useRef<Promise<unknown>>(Promise.resolve());
  useImperativeHandle(handle, () => ({
    focus: () => focusGently(area.current),
    edit(message) {
      uploads.cancel();
      showEdited({ message, draft: { text: message.content, files: message.files } });
      area.current?.focus();
    },
    restore(message) {
      changeUnsent(withMessage(latest.current.draft, message));
      area.current?.focus();
    },
  }));
  useEffect(() => {
    uploads.cancel();
    focusGently(area.current);
  }, [conversation.key]);
  const endEdit = (): void => {
    uploads.cancel();
    showEdited(undefined);
    area.current?.focus();
  };
  const changeFiles = (make: (files: readonly DraftFile[]) => readonly DraftFile[]): void => {
    change({ ...present(), files: make(present().files) });
  };
  const add = async (chosen: readonly File[]): Promise<void> => {
    const all = readFiles(chosen, store.maxFileBytes);
    const before = reading.current;
    reading.current = all;
    await before;
    const addTo = await all;
    const added = addTo(present().files);
    changeFiles(() => added.files);
    setProblem(added.problem);
  };
  const submit = async (): Promise<void> => {
    setProblem("");
    const changed = latest.current.edited?.message;
    await reading.current;
    // Another conversation may be opened while this one waits, or an edit begun or ended.
    const isOpen = (): boolean =>
      latest.current.draftName === draftName &&
      latest.current.conversation === conversation &&
      latest.current.edited?.message === changed;
    if (!isOpen()) return;
    const uploaded = await uploads.wait(conversation.session, () =>
      isOpen() ? present().files : [],
    );
    if (!uploaded || !isOpen()) return;
    if ("failed" in uploaded) return setProblem(notUploaded(uploaded.failed));
    area.current?.focus();
    const text = present().text.trim();
    if (text === "" && uploaded.files.length === 0) return;
    if (changed) {
      endEdit();
      return conversation.replace(changed, text, uploaded.files);
    }
    changeUnsent(emptyDraft);
    store.send(conversation, text, uploaded.files);
  };
  const type = (text: string): void => {
    change({ ...present(), text });
    conversation.showTyping();
    setProblem("");
  };
  const acts = { add, changeFiles, submit, type, endEdit };
  return { draft: shown, problem, area, uploads, ...acts, edited: edited?.message };
}

/** Lets a message wait for the uploads of its files. */
function useUploads() {
  const [isWaiting, setWaiting] = useState(false);
  const attempt = useRef<object>(undefined);
  return {
    isWaiting,
    /** The message is not sent when the uploads are complete. */
    cancel(): void {
      attempt.current = undefined;
      setWaiting(false);
    },
    /** @returns Undefined if the attempt was canceled, or replaced by a newer one. */
    async wait(session: string, present: () => readonly DraftFile[]) {
      const own = {};
      attempt.current = own;
      if (present().length === 0) return { files: [] };
      const { waitForUploads } = await uploadsPart.load();
      const uploaded = await waitForUploads(session, present, () => {
        if (attempt.current === own) setWaiting(true);
      });
      if (attempt.current !== own) return undefined;
      setWaiting(false);
      return uploaded;
    },
  };
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

export function Composer(props: ComposerProps): JSX.Element {
  const { store, conversation, handle } = props;
  const { name, maxFileBytes } = store;
  /** Other channels accept no files here. */
  const isTextOnly = conversation.isReadOnly;
  const { draft, problem, area, uploads, edited, ...acts } = useComposer(props);
  const { add, changeFiles, submit, type, endEdit } = acts;
  const { text, files } = draft;
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
      endEdit();
    }
    if (event.key === "ArrowUp" && text === "" && files.length === 0) {
      event.preventDefault();
      const last = lastOwn(conversation);
      if (last) handle.current?.edit(last);
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
        <FieldProblem text={problem} />
        {edited && <EditNote isKept={isInConversation(edited)} cancel={endEdit} />}
        {!isTextOnly && <DropTarget add={add} what={what} />}
        {uploads.isWaiting && <WaitNote cancel={uploads.cancel} />}
        {!isTextOnly && maxFileBytes !== undefined && (
          <LongPaste text={text} setText={type} add={add} />
        )}
        <div class="box">
          {chosen && <chosen.Chosen {...{ conversation, files, changeFiles }} />}
          <textarea
            ref={area}
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
