// Types of the plugin decisions.
import type {
  Address,
  Conversations,
  QuestionVia,
  Sender,
  Turn,
} from "../conversations/contract.ts";
import type { OpenRecords } from "../records/index.ts";

type Asked = NonNullable<Turn["question"]>;
type Settled = NonNullable<Asked["settled"]>;

/** The parts of a decision that stay after its conversation was deleted. */
export interface DecisionLine {
  /** Id of the question; after the deletion, a random one. */
  readonly id: string;
  /** Unix milliseconds of the settlement. */
  readonly at: number;
  /** Kind of the question. */
  readonly kind: Asked["kind"];
  /** Whether the chosen option allows or denies; absent if no option with an effect was chosen. */
  readonly effect?: "allow" | "deny";
  /** How the question was settled. */
  readonly outcome: Settled["outcome"];
  /** Where the answer came from. */
  readonly via: QuestionVia;
  /** Id of the person or key who settled it: `owner`, `host:ID`, `key:ID`. */
  readonly by?: string;
}

/** A settled question. */
export interface Decision extends DecisionLine, Partial<Address> {
  /** True if the conversation was deleted. Then all fields below are absent. */
  readonly isDeleted?: true;
  /** Id of the conversation. */
  readonly conversation?: string;
  /** Title of the conversation. */
  readonly title?: string;
  /** Unix milliseconds at which it was asked. */
  readonly askedAt?: number;
  /** The text of the question as Markdown. */
  readonly question?: string;
  /** The subject of the question in one line. */
  readonly subject?: string;
  /** Name of the tool call that the question is about. */
  readonly tool?: string;
  /** Arguments of that call. */
  readonly arguments?: string;
  /** Labels of the chosen options. */
  readonly chosen?: readonly string[];
  /** The text of the answer. */
  readonly text?: string;
  /** The values of a form. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Name of the person or key. */
  readonly person?: Sender["name"];
  /** How the answer that asked ended; for a durable question, the answer that went on. Absent if
   *  it has not ended. */
  readonly followed?: {
    /** How it ended. */
    readonly outcome: NonNullable<Turn["outcome"]>;
    /** The code of that end. */
    readonly code?: string;
  };
}

/** A list of decisions. */
export interface DecisionList {
  /** The latest first. */
  readonly decisions: readonly Decision[];
  /** False if there may be more, because a limit was reached. */
  readonly isComplete: boolean;
}

/** Lists who has decided what. Everything is read from the conversations. */
export interface Decisions {
  /**
   * Lists the settled questions of all conversations, and lines of deleted ones.
   *
   * `options.since`: Unix milliseconds: only questions that were settled later.
   * `options.limit`: at most 1,000. The default is 200.
   * @throws store_unavailable if the conversations cannot be read.
   */
  list(options: { readonly since: number; readonly limit?: number }): Promise<DecisionList>;
}

/** The plugin's configuration and services. */
export type DecisionsShape = {
  /** Its part of the section `store`. */
  config: { readonly decisions_days: number };
  /** The section as users write it. */
  section: { store: { readonly decisions_days?: number } };
  /** The conversations with the decisions, and the records with the lines of deleted ones. */
  uses: { conversations: Conversations; records: OpenRecords };
  /** Lists the decisions. */
  offers: { decisions: Decisions };
};
