/** Questions of the application, and their settlements. */
import type { Address, Sender } from "./address.ts";

/** The kind of a question: see the fields of {@link Question}. */
export type QuestionKind = "approval" | "choice" | "form" | "link";

/** One of the answers that a person can choose. */
export interface QuestionOption {
  /** Identifies the option within its question: 1 to 64 characters. */
  readonly id: string;
  /** Text of the button: at most 80 characters. */
  readonly label: string;
  /** Explains the option: at most 300 characters. */
  readonly description?: string;
  /** Whether the option allows what is asked. An option without an effect allows nothing. */
  readonly effect?: "allow" | "deny";
  /** True if the application remembers the choice. Doorward remembers nothing. */
  readonly lasting?: boolean;
}

/** A field of a form, as in JSON Schema. */
export interface FormProperty {
  /** Type of the value. An `array` holds values of `items`. */
  readonly type: "string" | "number" | "integer" | "boolean" | "array";
  /** Label of the field. */
  readonly title?: string;
  /** Help text of the field. */
  readonly description?: string;
  /** Value that the field begins with. */
  readonly default?: unknown;
  /** Fewest characters of a text. */
  readonly minLength?: number;
  /** Most characters of a text. @defaultValue `4_096` */
  readonly maxLength?: number;
  /** Form of a text. */
  readonly format?: "email" | "uri" | "date" | "date-time";
  /** The texts to choose from. */
  readonly enum?: readonly string[];
  /** Labels of `enum`, in the same order. */
  readonly enumNames?: readonly string[];
  /** The texts to choose from, with labels. */
  readonly oneOf?: readonly { readonly const: string; readonly title?: string }[];
  /** Lowest number. */
  readonly minimum?: number;
  /** Highest number. */
  readonly maximum?: number;
  /** Fewest items of an array. */
  readonly minItems?: number;
  /** Most items of an array. */
  readonly maxItems?: number;
  /** The texts that an array chooses from. */
  readonly items?: Pick<FormProperty, "enum" | "enumNames"> & {
    readonly type?: "string";
    readonly anyOf?: readonly { readonly const: string; readonly title?: string }[];
  };
}

/** The fields of a form: a flat object of JSON Schema with at most 20 properties and 16 KiB. */
export interface FormSchema {
  /** Always `object`. */
  readonly type: "object";
  /** Heading of the form. */
  readonly title?: string;
  /** Help text of the form. */
  readonly description?: string;
  /** The fields by name. */
  readonly properties: Readonly<Record<string, FormProperty>>;
  /** Names of the fields that need a value. */
  readonly required?: readonly string[];
}

/**
 * How a question ended. `answered`: a person chose. `dismissed`: a person closed it without a
 * choice. `expired`: its time ended. `stopped`: a client stopped the answer. `withdrawn`: the
 * application needs it no more. `lost`: the application ended or moved. Only `answered` with an
 * option of the effect `allow` allows anything.
 */
export type QuestionOutcome =
  | "answered"
  | "dismissed"
  | "expired"
  | "stopped"
  | "withdrawn"
  | "lost";

/**
 * Where an answer came from. `ask` is the page `/ask`, `host` the
 * application or Doorward itself; a channel gives its name. Show a text that you do not know as it
 * is.
 */
export type QuestionVia =
  | "dashboard"
  | "ask"
  | "cli"
  | "push"
  | "host"
  | "pico"
  | "openai"
  | "ai_sdk"
  | "ag_ui"
  | "acp"
  | "keys"
  | (string & {});

/** An answer of a person: one of `option`, `options`, `values`, `text` alone, or `dismiss`. */
export interface QuestionAnswer {
  /** Id of the chosen option. */
  readonly option?: string;
  /** Ids of the chosen options, if the question permits several. */
  readonly options?: readonly string[];
  /** The values of a form, by property. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Free text or a reason: at most 4 KiB. */
  readonly text?: string;
  /** Closes the question without a choice. */
  readonly dismiss?: boolean;
}

/** How a question was settled. */
export interface QuestionSettlement extends Omit<QuestionAnswer, "dismiss"> {
  /** How it ended. */
  readonly outcome: QuestionOutcome;
  /** The person who answered or stopped it, as the server knows them. */
  readonly by?: Sender;
  /** Where the answer came from. */
  readonly via: QuestionVia;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A question as its message carries it. */
export interface Question {
  /** Its kind. */
  readonly kind: QuestionKind;
  /** The subject in one line of at most 200 characters. */
  readonly title?: string;
  /** Id of the tool call behind the question. */
  readonly toolCallId?: string;
  /** The answers to choose from. Absent for forms. */
  readonly options?: readonly QuestionOption[];
  /** True if a `choice` permits several options. */
  readonly multiple?: boolean;
  /** True if a `choice` permits a text in place of an option. */
  readonly other?: boolean;
  /** The fields of a `form`. */
  readonly schema?: FormSchema;
  /** The address of a `link`. */
  readonly url?: string;
  /** Unix milliseconds at which the question expires; absent for never. */
  readonly expiresAt?: number;
  /** Key of a question that outlives its program. Not sent to clients. */
  readonly durable?: string;
  /** `open` until it is settled. */
  readonly state: "open" | "settled";
  /** How it was settled; absent while it is open. */
  readonly settled?: QuestionSettlement;
}

/** An open question. */
export interface OpenQuestion extends Address {
  /** Id of the question, which is the id of its message. */
  readonly id: string;
  /** The text as Markdown. */
  readonly content: string;
  /** Id of the client message whose answer asks. Absent for a question of the session. */
  readonly inReplyTo?: string;
  /** Unix milliseconds at which it was asked. */
  readonly at: number;
  /** The question. */
  readonly question: Question;
}

/** The effect of an answer. */
export interface AnswerResult {
  /**
   * `settled`: this answer counts. `already`: an earlier one does. `unknown`: the session has no
   * such question. `invalid`: the answer does not fit the question, which stays open.
   */
  readonly status: "settled" | "already" | "unknown" | "invalid";
  /** How the question was settled, with `settled` and `already`. */
  readonly settled?: QuestionSettlement;
  /** The field that is wrong and what is expected, with `invalid`. */
  readonly problem?: string;
}

/** The answer to a durable question, as a message carries it to the application. */
export interface DurableAnswer extends Omit<QuestionSettlement, "by" | "at"> {
  /** The key that the application gave the question. */
  readonly key: string;
  /** Id of the question. */
  readonly messageId: string;
  /** Whether the chosen option allows what was asked. */
  readonly effect?: "allow" | "deny";
}
