/** The field for a message, with its images, and the button that sends or stops. @module */
import type { JSX, RefObject } from "preact";
import { useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "preact/hooks";
import { later } from "../live/later.ts";
import { IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { acceptedTypes } from "./image-types.ts";
import type { Conversation } from "./state/conversation.ts";
import { emptyDraft, type Draft, type DraftStore } from "./state/draft.ts";
import { isInConversation, type ShownFile, type UserMessage } from "./state/thread.ts";

/** Acts of other parts of the page on the composer. */
export interface ComposerHandle {
  /** Shows a sent message for a change. The unsent one returns afterwards. */
  edit(message: UserMessage): void;
  /** Puts a withdrawn message before the unsent text. */
  restore(message: UserMessage): void;
  add(files: readonly File[]): Promise<void>;
}

interface ComposerProps {
  readonly conversation: Conversation;
  readonly drafts: DraftStore;
  /** Name of its draft: the session, or one name for all new conversations. */
  readonly draftName: string;
  /** Name of the application. */
  readonly name: string;
  readonly handle: RefObject<ComposerHandle | null>;
  /** True if messages cannot have images. */
  readonly isTextOnly: boolean;
  readonly onSend: (text: string, files: readonly ShownFile[], edited?: UserMessage) => void;
  /** Puts the last own message into the field. */
  readonly onEditLast: () => void;
}

const extrasPart = later(() => import("./composer-extras.tsx"));

const saveDelayMs = 300;

/** The draft of a conversation. It is saved shortly after each change. */
function useDraft(drafts: DraftStore, session: string) {
  const [draft, setDraft] = useState<Draft>(emptyDraft);
  const unsaved = useRef<Draft>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => {
    let isCurrent = true;
    setDraft(emptyDraft);
    void drafts.load(session).then((loaded) => {
      if (isCurrent && !unsaved.current) setDraft(loaded);
    });
    const save = (): void => {
      clearTimeout(timer.current);
      if (!unsaved.current) return;
      drafts.keep?.(session, unsaved.current.text);
      void drafts.save(session, unsaved.current);
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
    setDraft(next);
    unsaved.current = next;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      if (unsaved.current) void drafts.save(session, unsaved.current);
      unsaved.current = undefined;
    }, saveDelayMs);
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

/** The unsent message of the composer, and the acts on it. */
function useComposer({ conversation, drafts, draftName, handle, onSend }: ComposerProps) {
  const [draft, setDraft] = useDraft(drafts, draftName);
  const [problem, setProblem] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  /** The sent message that is being changed, and the unsent one that it hides. */
  const [edited, setEdited] = useState<{ readonly message: UserMessage; readonly draft: Draft }>();
  const latest = useLatest({ draft, draftName, setDraft, onSend, edited });
  /** Files that are being read; a message waits for them. */
  const reading = useRef<Promise<unknown>>(Promise.resolve());
  const change = (next: Draft): void => {
    latest.current = { ...latest.current, draft: next };
    latest.current.setDraft(next);
  };
  useImperativeHandle(handle, () => ({
    edit(message) {
      const { draft: present, edited: before } = latest.current;
      setEdited({ message, draft: before?.draft ?? present });
      change({ text: message.content, files: message.files });
      area.current?.focus();
    },
    restore({ content, files }) {
      const { draft: present } = latest.current;
      const text = [content, present.text].filter(Boolean).join("\n\n");
      change({ text, files: [...files, ...present.files] });
      area.current?.focus();
    },
    async add(chosen) {
      const all = extrasPart.loaded.then(({ readFiles }) => readFiles(chosen));
      const before = reading.current;
      reading.current = all;
      await before;
      const { addTo, problem: found } = await all;
      const { draft: present } = latest.current;
      change({ ...present, files: addTo(present.files) });
      setProblem(found);
    },
  }));
  useEffect(() => {
    setEdited(undefined);
    if (matchMedia("(hover: hover)").matches) area.current?.focus({ preventScroll: true });
  }, [conversation.session]);
  const endEdit = (): void => {
    change(latest.current.edited?.draft ?? emptyDraft);
    setEdited(undefined);
    area.current?.focus();
  };
  const submit = async (): Promise<void> => {
    setProblem("");
    await reading.current;
    const { draft: present, draftName: open, onSend: sendNow, edited: changed } = latest.current;
    // Another conversation may have been opened in the meantime.
    if (open !== draftName) return;
    area.current?.focus();
    if (present.text.trim() === "" && present.files.length === 0) return;
    endEdit();
    sendNow(present.text.trim(), present.files, changed?.message);
  };
  const type = (text: string): void => {
    change({ ...draft, text });
    conversation.showTyping();
    setProblem("");
  };
  return { draft, problem, area, change, submit, type, endEdit, edited: edited?.message };
}

/** Enter sends. A keyboard on the screen has no Shift key for a new line. */
const isSendKey = ({ key, shiftKey }: KeyboardEvent): boolean =>
  key === "Enter" && !shiftKey && !matchMedia("(pointer: coarse)").matches;

export function Composer(props: ComposerProps): JSX.Element {
  const { conversation, name, handle, isTextOnly, onEditLast } = props;
  const { draft, problem, area, change, submit, type, endEdit, edited } = useComposer(props);
  const { text, files } = draft;
  const extras = extrasPart.module.value;
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
      onEditLast();
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
        <p class="problem" role="alert" hidden={problem === ""}>
          {problem}
        </p>
        {extras && edited && <extras.EditNote isKept={isInConversation(edited)} cancel={endEdit} />}
        {extras && !isTextOnly && (
          <extras.DropTarget add={(chosen) => handle.current?.add(chosen)} />
        )}
        <div class="box">
          {extras && files.length > 0 && (
            <extras.Chosen files={files} setFiles={(next) => change({ ...draft, files: next })} />
          )}
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
            {!isTextOnly && <Picker add={(chosen) => handle.current?.add(chosen)} />}
            {extras && contextUse !== undefined && <extras.ContextUse share={contextUse} />}
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

interface SendProps {
  readonly canStop: boolean;
  readonly isDisabled: boolean;
}

function SendButton({ canStop, isDisabled }: SendProps): JSX.Element {
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

function Picker({ add }: { readonly add: (files: readonly File[]) => unknown }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={field}
        type="file"
        multiple
        hidden
        aria-label="Images"
        accept={acceptedTypes.join(",")}
        onChange={({ currentTarget }) => {
          add([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
      <IconButton icon="paperclip" label="Attach images" onClick={() => field.current?.click()} />
    </>
  );
}
