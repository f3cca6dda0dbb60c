// The service of the acp plugin, its status and its event.
import type { Channels, ChannelsEvents } from "../channels/index.ts";
import type { MediaFiles } from "../media/index.ts";
import type { OpenRecords } from "../records/index.ts";
import type { Program, ProgramState } from "../program/index.ts";

/** Why the agent cannot answer, or answers with less care than expected. */
export interface AgentProblem {
  /** `agent_not_found`, `agent_not_acp`, `agent_version`, `agent_silent`, `agent_needs_sign_in`,
   *  `agent_refuses_root`, `agent_refused`, `agent_ended` or `agent_mode`. */
  readonly code: string;
  /** One sentence for people. */
  readonly sentence: string;
  /** The repair: a command or a change. */
  readonly fix: string;
}

/** A mode of the agent: how much it does without asking. */
export interface AgentMode {
  /** Identifies the mode for the agent. */
  readonly id: string;
  /** Name for people. */
  readonly name: string;
  /** True if the id or the name says that the agent asks less in this mode, or not at all. */
  readonly isRisky: boolean;
}

/** A command of the agent, which a message begins with: `/name`. */
export interface AgentCommand {
  /** Name, without the slash. */
  readonly name: string;
  /** Explains the command. */
  readonly description?: string;
  /** Words that may follow the name. */
  readonly hint?: string;
}

/** Status of the agent. */
export interface AgentStatus {
  /** Name of the agent, as it gave it. */
  readonly name?: string;
  /** Version of the agent, as it gave it. */
  readonly version?: string;
  /** Why it cannot answer. */
  readonly problem?: AgentProblem;
  /** Mode of the session that was used last. */
  readonly mode?: AgentMode;
  /** Modes that it offers. */
  readonly modes: readonly AgentMode[];
  /** Commands that it offers. */
  readonly commands: readonly AgentCommand[];
  /** Steps that it asked about since the kernel started. */
  readonly asked: number;
  /** Steps that change something, which it ran without asking. */
  readonly unasked: number;
}

/** Service with the status of the agent. */
export interface Agent {
  /** Describes the agent, and what is wrong with it. */
  status(): AgentStatus;
}

/** Events of the acp plugin. */
export type AcpEvents = {
  /** The agent started, ended, became ready or wrote to standard error (at most once per second).
   *  `restarts`: since the kernel started. */
  "acp:state-changed": { state: ProgramState; restarts: number };
};

/** Types of the acp plugin for the kernel. */
export type AcpShape = {
  /** Changes of the agent's state. */
  emits: AcpEvents;
  /** Deleted conversations. */
  listens: Pick<ChannelsEvents, "channels:session-cleared">;
  /** The channels service, whose messages the agent receives. */
  needs: { channels: Channels };
  /** Files of messages, which the agent reads; remembers the sessions of the agent. */
  uses: { media: MediaFiles; records: OpenRecords };
  /** The status of process and agent, and the mark of the one application of a kernel. */
  offers: { program: Program; agent: Agent; application: string };
};
