/** The messages and answers of a handler, and the settings of `agent`. */
import type { AgentState } from "./state.ts";

/** A file of a message. It has a path on this machine, or a `data:` URL. */
export interface AgentFile {
  /** The name that the sender gave. */
  readonly name?: string;
  /** Its media type, such as `application/pdf`. */
  readonly contentType?: string;
  /** Its size in bytes. */
  readonly size?: number;
  /** Its path on this machine. */
  readonly path?: string;
  /** Its `data:` URL. */
  readonly url?: string;
  /** Its id in Doorward. */
  readonly id?: string;
  /**
   * Reads the content.
   *
   * @throws Error if the file is not on this machine.
   */
  read(): Promise<Uint8Array>;
}

/** How a question ended. */
export interface Settled {
  /** True only if a person chose an option that allows. */
  readonly allowed: boolean;
  /** `answered`, `dismissed`, `expired`, `withdrawn` or `lost`. */
  readonly outcome: string;
  /** The id of the chosen option. */
  readonly option?: string;
  /** The ids of the chosen options, if a choice permits several. */
  readonly options?: readonly string[];
  /** The values of a form. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** A free text, or the reason of a no. */
  readonly text?: string;
  /** The effect of the chosen option: `allow` or `deny`. */
  readonly effect?: string;
  /** The person who answered. */
  readonly by?: { readonly id: string; readonly name?: string };
  /** The way of the answer, such as `dashboard`, `cli` or `pico`. */
  readonly via?: string;
  /** The key of `askLater`. */
  readonly key?: string;
}

/** A message of a person or a program. */
export interface AgentMessage {
  /** Identifies the message. */
  readonly id: string;
  /** The channel, such as `pico`. */
  readonly channel: string;
  /** The conversation on the channel. */
  readonly session: string;
  /** The text. */
  readonly content: string;
  /** Its files, which `read()` reads. */
  readonly files: readonly AgentFile[];
  /** The person or program that wrote it, as the server knows it. */
  readonly sender?: { readonly id: string; readonly name?: string };
  /** Set if the message is the answer to a question of `askLater`, also if it is a no. */
  readonly answer?: Settled;
  /** Earlier turns that the client sent along: a claim of the client. */
  readonly previous: readonly Readonly<Record<string, unknown>>[];
  /** Tools that the client offers to run itself. */
  readonly tools: readonly Readonly<Record<string, unknown>>[];
  /** The choice of the client: `"auto"`, `"none"`, `"required"` or `{ name }`. */
  readonly toolChoice: unknown;
  /** Results of tools that the client has run. */
  readonly toolResults: readonly Readonly<Record<string, unknown>>[];
  /** All fields of the line. */
  readonly raw: Readonly<Record<string, unknown>>;
  /** The state of this conversation: JSON values that outlive the program. They are stored when the
   *  answer ends, and before a question of `askLater`. */
  readonly state: AgentState;
  /** Aborts when a person stops the answer. */
  readonly signal: AbortSignal;
}

/** Fields of a question in addition to its text: see docs/questions.md. */
export interface QuestionFields {
  /** The subject in one line. */
  readonly title?: string;
  /** A step, or the id of its call: the question is about it. */
  readonly tool?: Step | string;
  /** The options of an approval. @defaultValue allow and deny */
  readonly options?: readonly AgentOption[];
  /** Seconds until the question expires. @defaultValue none */
  readonly timeoutS?: number;
}

/** An option of a question. */
export interface AgentOption {
  /** Identifies the option, at most 64 characters. */
  readonly id: string;
  /** The text of its button, at most 80 characters. */
  readonly label: string;
  /** A sentence about it. */
  readonly description?: string;
  /** Its effect, in an approval. */
  readonly effect?: "allow" | "deny";
  /** True if it also decides later questions. */
  readonly lasting?: boolean;
}

/** Fields of a step that people see: see docs/programs.md. */
export interface StepFields {
  /** Names the step. @defaultValue the name of the tool */
  readonly title?: string;
  /** Its kind, such as `edit` or `execute`. */
  readonly kind?: string;
  /** `pending`, `running`, `completed` or `failed`. @defaultValue `"running"` */
  readonly state?: string;
  /** The id of the call. @defaultValue a new one */
  readonly id?: string;
  /** Files that it concerns. */
  readonly locations?: readonly Readonly<Record<string, unknown>>[];
  /** Diffs, texts and terminal output. */
  readonly details?: readonly Readonly<Record<string, unknown>>[];
}

/** A step of the answer, such as the call of a tool. */
export interface Step {
  /** The id of its call. */
  readonly id: string;
  /** Changes a step that goes on. */
  update(fields: StepFields): void;
  /** Completes it with the result of the tool. */
  done(result?: unknown, fields?: StepFields): void;
  /** Says that it failed. */
  fail(error: string, fields?: StepFields): void;
}

/** An entry of a plan. */
export interface PlanEntry {
  /** The task. */
  readonly content: string;
  /** `pending`, `running`, `completed` or `failed`. */
  readonly state: string;
  /** `high`, `medium` or `low`. */
  readonly priority?: string;
}

/** Facts about the answer, sent when it ends. */
export interface AnswerFacts {
  /** Numbers of tokens: `input_tokens`, `output_tokens`, `reasoning_tokens`, `cached_tokens`. */
  usage?: Readonly<Record<string, number>>;
  /** Name of the model. */
  model?: string;
  /** `stop`, `length` or `content_filter`. */
  finishReason?: string;
  /** Messages to send next: at most four. */
  suggestions?: readonly string[];
}

/** The answer in progress. The values that a generator yields are written, too. */
export interface AgentAnswer extends AnswerFacts {
  /** Adds text to the answer. */
  write(text: string): void;
  /** Adds text to a thought, which clients show apart from the answer. */
  think(text: string): void;
  /** Shows a step. */
  tool(name: string, args?: unknown, fields?: StepFields): Step;
  /** Asks the client to run one of `message.tools`. The answer ends then, and the result is a later
   *  message with `toolResults`. @returns the id of the call */
  call(name: string, args?: unknown): string;
  /** Shows a plan, or replaces the one of this answer. */
  plan(entries: readonly PlanEntry[]): void;
  /**
   * Sends a file.
   *
   * @param source - A path, or the content.
   * @throws Error if this Doorward keeps no files.
   */
  file(
    source: string | Uint8Array,
    fields?: { readonly name?: string; readonly contentType?: string; readonly text?: string },
  ): Promise<void>;
  /** Names the conversation, at most 200 characters. A title of a person stays. */
  title(text: string): void;
  /**
   * Asks the people of the conversation for approval, and waits.
   *
   * @returns True only if one of them allows.
   * @throws AgentError if Doorward cannot ask this, or a person stops the answer.
   */
  allow(content: string, fields?: QuestionFields): Promise<boolean>;
  /** Asks a question of any kind, and waits: see `allow` and docs/questions.md. */
  ask(
    content: string,
    fields?: QuestionFields & { readonly kind?: string } & Readonly<Record<string, unknown>>,
  ): Promise<Settled>;
  /** Asks to choose among at most eight texts. @returns the chosen one, or undefined */
  choose(
    content: string,
    options: readonly (string | AgentOption)[],
    fields?: QuestionFields & { readonly other?: boolean },
  ): Promise<string | undefined>;
  /** Asks for values with a JSON Schema. They are stored: ask for no secret.
   *  @returns the values, or undefined */
  form(
    content: string,
    schema: Readonly<Record<string, unknown>>,
    fields?: QuestionFields,
  ): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** Asks a question that outlives this program. The answer is a later message with `answer`, whose
   *  `key` is yours. It comes again until a handler has begun with it. */
  askLater(
    key: string,
    content: string,
    fields?: QuestionFields & { readonly kind?: string },
  ): Promise<void>;
  /** Reads turns before this message, oldest first, at most 200. @defaultValue 50 */
  history(limit?: number): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** Text, pieces of text, or nothing. */
export type Written = AsyncIterable<string> | Iterable<string> | string | undefined | void;

/** Answers a message: an async generator, or a function that returns the text. */
export type Handler = (message: AgentMessage, answer: AgentAnswer) => Written | Promise<Written>;

/** Settings of `agent`. */
export interface AgentOptions {
  /** The next message of a session does not wait for the end of the answer. @defaultValue false */
  readonly parallel?: boolean;
  /** Further abilities of the program: `"tools"` (it follows `message.tools` and `tool_choice`)
   *  and `"continue"`. @defaultValue none */
  readonly can?: readonly string[];
}

/** The state of the program, for the overview, `doorward doctor` and the chat page: see
 *  docs/programs.md. */
export interface StatusFields {
  /** `ready`, `starting`, `needs_action` or `failed`. */
  readonly state: string;
  /** Its name for people. */
  readonly name?: string;
  /** A sentence about the state. */
  readonly message?: string;
  /** How to repair it. */
  readonly fix?: string;
  /** Id of the present mode. */
  readonly mode?: string;
  /** All modes. */
  readonly modes?: readonly Readonly<Record<string, unknown>>[];
  /** Commands that a person can write as `/name`. */
  readonly commands?: readonly Readonly<Record<string, unknown>>[];
  /** Numbers for the overview: `label` and `value`. */
  readonly counts?: readonly Readonly<Record<string, unknown>>[];
}

/** A question or a request that Doorward rejected, or the stop of the answer (`code` `stopped`). */
export class AgentError extends Error {
  /** A word such as `invalid_question`. */
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.name = "AgentError";
    this.code = code;
  }
}
