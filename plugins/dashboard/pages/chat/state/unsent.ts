/** Messages that are being written, also while another conversation is in front. @module */
import { signal } from "@preact/signals";
import { onDemand } from "../../live/on-demand.ts";
import { readFiles } from "../files/attachments.ts";
import type { Conversation } from "./conversation.ts";
import {
  draftOf,
  emptyDraft,
  joinDrafts,
  keepText,
  loadDraft,
  saveDraft,
  type Draft,
  type DraftFile,
} from "./drafts.ts";
import type { ChatStore, ShownConversation } from "./store.ts";
import type { UserMessage } from "./thread.ts";

const uploadsPart = onDemand(() => import("../files/uploads.ts"));
const saveDelayMs = 300;

/** The field of the open conversation. */
const field = (): HTMLElement | null => document.getElementById("message");

/** Focuses the field, unless that opens the keyboard of a phone. */
export function focusField(): void {
  if (matchMedia("(hover: hover)").matches) field()?.focus({ preventScroll: true });
}

/** One message that is being written. Late images and uploads know the object. */
export class Unsent {
  readonly draft = signal<Draft>(emptyDraft);
  readonly problem = signal("");
  /** True while the message waits for the uploads of its files. */
  readonly isWaiting = signal(false);
  /** The sent message that this is a new version of. */
  readonly replaced: UserMessage | undefined;
  /** Where files go that are read after this message has ended. */
  private successor: Unsent | undefined;
  /** Files that are being read; the message waits for them. */
  private reading: Promise<void> = Promise.resolve();
  /** The present attempt to send. */
  private attempt: object | undefined;
  private readonly first: Draft;

  constructor(replaced?: UserMessage) {
    this.replaced = replaced;
    this.first = replaced ? draftOf(replaced) : emptyDraft;
    this.draft.value = this.first;
  }

  get isChanged(): boolean {
    const { text, files } = this.draft.peek();
    return text !== this.first.text || files !== this.first.files;
  }

  /** Every change of the message comes here. */
  change(next: Draft): void {
    this.draft.value = next;
  }

  type(text: string): void {
    this.change({ ...this.draft.peek(), text });
    this.problem.value = "";
  }

  changeFiles(make: (files: readonly DraftFile[]) => readonly DraftFile[]): void {
    const draft = this.draft.peek();
    this.change({ ...draft, files: make(draft.files) });
  }

  add(chosen: readonly File[], maxBytes: number | undefined): void {
    const read = readFiles(chosen, maxBytes);
    this.reading = this.reading.then(async () => {
      const addTo = await read;
      const target = this.successor ?? this;
      const { files, problem } = addTo(target.draft.peek().files);
      target.changeFiles(() => files);
      target.problem.value = problem;
    });
  }

  /** The message is not sent when the uploads are complete. */
  cancel(): void {
    this.attempt = undefined;
    this.isWaiting.value = false;
  }

  /** @param successor - Receives late files. Without it, they are dropped. */
  end(successor?: Unsent): void {
    this.cancel();
    this.successor = successor;
  }

  /** @returns The complete message, unless it is empty, has a problem or was canceled. */
  async complete(session: string): Promise<Parameters<Conversation["send"]> | undefined> {
    this.problem.value = "";
    const own = (this.attempt = {});
    const isCurrent = (): boolean => this.attempt === own;
    await this.reading;
    const files = (): readonly DraftFile[] => (isCurrent() ? this.draft.peek().files : []);
    const part = files().length > 0 ? await uploadsPart.load() : undefined;
    const onWait = (): void => void (this.isWaiting.value = true);
    const uploaded = (await part?.waitForUploads(session, files, onWait)) ?? { files: [] };
    if (!isCurrent()) return undefined;
    this.cancel();
    if ("failed" in uploaded) {
      const { failed } = uploaded;
      this.problem.value = `The message waits: ${failed} is not uploaded. Remove it or retry.`;
      return undefined;
    }
    const text = this.draft.peek().text.trim();
    return text === "" && uploaded.files.length === 0 ? undefined : [text, uploaded.files];
  }
}

/** The unsent message of a conversation, which this browser keeps. */
class KeptUnsent extends Unsent {
  private readonly name: string;
  /** Undefined if the browser has the draft. */
  private unsaved: Draft | undefined;
  private hasChanged = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(name: string) {
    super();
    this.name = name;
    void loadDraft(name).then((loaded) => {
      if (loaded === emptyDraft) return;
      // The text that was written in the meantime stays.
      if (this.hasChanged) this.change(joinDrafts(loaded, this.draft.peek()));
      else this.draft.value = loaded;
    });
  }

  /** The draft is saved shortly after a change of the text. */
  override change(next: Draft): void {
    const delayMs = next.files === this.draft.peek().files ? saveDelayMs : 0;
    super.change(next);
    this.unsaved = next;
    this.hasChanged = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(async () => {
      await saveDraft(this.name, next);
      if (this.unsaved === next) this.unsaved = undefined;
    }, delayMs);
  }

  /** Saves before the page can end. */
  saveNow(): void {
    clearTimeout(this.timer);
    if (!this.unsaved) return;
    keepText(this.name, this.unsaved.text);
    void saveDraft(this.name, this.unsaved);
    this.unsaved = undefined;
  }
}

/** The unsent message of a conversation, and the new version of a sent one in front of it. */
export class Writing {
  readonly own: KeptUnsent;
  private readonly edited = signal<Unsent | undefined>(undefined);

  constructor(name: string) {
    this.own = new KeptUnsent(name);
  }

  get shown(): Unsent {
    return this.edited.value ?? this.own;
  }

  /** Shows a sent message for a change. The unsent one returns afterwards. */
  edit(message: UserMessage): void {
    this.endEdit();
    this.own.cancel();
    this.edited.value = new Unsent(message);
    field()?.focus();
  }

  endEdit(successor?: Unsent): void {
    this.edited.peek()?.end(successor);
    this.edited.value = undefined;
    field()?.focus();
  }

  /** Puts a withdrawn message before the unsent text. */
  restore(message: UserMessage): void {
    this.own.change(joinDrafts(draftOf(message), this.own.draft.peek()));
  }

  async submit(store: ChatStore, conversation: Conversation): Promise<void> {
    const { shown, own } = this;
    const { replaced } = shown;
    const complete = await shown.complete(conversation.session);
    if (!complete) return;
    field()?.focus();
    if (replaced) {
      this.endEdit(own);
      return conversation.replace(replaced, ...complete);
    }
    own.change(emptyDraft);
    store.send(conversation, ...complete);
  }

  /** The conversation or the page is left: a new version becomes part of the unsent message. */
  leave(): void {
    const { own } = this;
    const edited = this.edited.peek();
    this.edited.value = undefined;
    own.cancel();
    edited?.end(own);
    if (edited?.isChanged) own.change(joinDrafts(edited.draft.peek(), own.draft.peek()));
    own.saveNow();
  }
}

const all = new Map<string, Writing>();

/** All new conversations have one unsent message. */
export function writingIn({ store, conversation }: ShownConversation): Writing {
  const { place } = store;
  const isNew = place.value.isNew && place.value.conversation === conversation;
  const name = isNew ? "new" : conversation.key;
  const writing = all.get(name) ?? new Writing(name);
  all.set(name, writing);
  return writing;
}
