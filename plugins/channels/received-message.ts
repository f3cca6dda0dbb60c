/** The message as the application receives it. */
import type { Ask, InboundMessage, Media, Message, PreviousTurn } from "./contract.ts";

/** The calls about one message, and the forms of its files. */
export interface MessageCalls {
  withOpen(media: readonly Media[]): readonly Media[];
  withOpenIn(previous: readonly PreviousTurn[]): readonly PreviousTurn[];
  accept(): void;
  reply: Message["reply"];
  update: Message["update"];
  openStream: Message["stream"];
  readonly ask: Ask;
  signal(): AbortSignal;
  history: Message["history"];
  noteEnd: Message["end"];
}

/**
 * The message that the application receives, without other fields of a channel or a peer. `signal`
 * and `end` are made when they are read, by getters of a class: those of an object literal took
 * five times as long as the whole delivery.
 */
export class ReceivedMessage implements Message {
  readonly channel: string;
  readonly session: string;
  readonly id: string;
  readonly content: string;
  readonly media: readonly Media[];
  readonly at: number;
  readonly hops: number;
  readonly accept: () => void;
  readonly reply: Message["reply"];
  readonly stream: Message["stream"];
  declare readonly sender?: NonNullable<InboundMessage["sender"]>;
  declare readonly inReplyTo?: string;
  declare readonly replaces?: string;
  declare readonly protocol?: string;
  declare readonly previous?: NonNullable<InboundMessage["previous"]>;
  declare readonly tools?: NonNullable<InboundMessage["tools"]>;
  declare readonly toolChoice?: NonNullable<InboundMessage["toolChoice"]>;
  declare readonly output?: NonNullable<InboundMessage["output"]>;
  declare readonly toolResults?: NonNullable<InboundMessage["toolResults"]>;
  declare readonly continues?: true;
  declare readonly metadata?: NonNullable<InboundMessage["metadata"]>;
  declare readonly answer?: NonNullable<InboundMessage["answer"]>;
  readonly #run: MessageCalls;

  constructor(run: MessageCalls, message: InboundMessage) {
    const { channel, session, id, content, media, at, hops } = message;
    const { sender, inReplyTo, replaces, protocol, previous, metadata, answer } = message;
    const { tools, toolChoice, output, toolResults, continues } = message;
    this.#run = run;
    this.channel = channel;
    this.session = session;
    this.id = id;
    this.content = content;
    this.media = run.withOpen(media);
    this.at = at;
    this.hops = hops;
    this.accept = () => run.accept();
    this.reply = (reply) => run.reply(reply);
    this.stream = (options) => run.openStream(options);
    if (sender !== undefined) this.sender = sender;
    if (inReplyTo !== undefined) this.inReplyTo = inReplyTo;
    if (replaces !== undefined) this.replaces = replaces;
    if (protocol !== undefined) this.protocol = protocol;
    if (previous !== undefined) this.previous = run.withOpenIn(previous);
    if (metadata !== undefined) this.metadata = metadata;
    if (answer !== undefined) this.answer = answer;
    if (tools !== undefined) this.tools = tools;
    if (toolChoice !== undefined) this.toolChoice = toolChoice;
    if (output !== undefined) this.output = output;
    if (toolResults !== undefined) this.toolResults = toolResults;
    if (continues) this.continues = continues;
  }

  get update(): Message["update"] {
    return (id, message) => this.#run.update(id, message);
  }

  get ask(): Ask {
    return this.#run.ask;
  }

  get signal(): AbortSignal {
    return this.#run.signal();
  }

  get history(): Message["history"] {
    return (options) => this.#run.history(options);
  }

  get end(): Message["end"] {
    return (options) => this.#run.noteEnd(options);
  }
}
