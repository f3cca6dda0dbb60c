// Adds admitted clients to the connections of the channel, and reports them.
import type { ServerResponse } from "node:http";
import type { Clock } from "../../kernel/index.ts";
import { Connection } from "./connection/connection.ts";
import type { ConnectionContext } from "./connection/context.ts";
import { connectionInfo, type ConnectionRegistry, type Peer } from "./connection/registry.ts";
import type { Admission } from "./handshake/admission.ts";
import type { AcceptedHandshake } from "./handshake/handshake.ts";
import type { HandshakeRequest } from "./handshake/request.ts";
import { createEventStream } from "./http/event-stream.ts";
import type { EventStreamRequest, HeaderMap } from "./http/router.ts";
import type { Counters } from "./metrics.ts";
import type { PicoServerEvents } from "./service.ts";

interface AdmittedPeersOptions {
  readonly clock: Clock;
  readonly emit: <Name extends keyof PicoServerEvents>(
    name: Name,
    event: PicoServerEvents[Name],
  ) => void;
  readonly connections: ConnectionRegistry;
  readonly counters: Counters;
}

export class AdmittedPeers {
  private readonly options: AdmittedPeersOptions;

  constructor(options: AdmittedPeersOptions) {
    this.options = options;
  }

  addConnection(
    context: ConnectionContext,
    acceptedHandshake: AcceptedHandshake,
    handshakeRequest: HandshakeRequest,
    admission: Admission,
  ): void {
    this.options.counters.handshakes["accepted"]! += 1;
    const id = context.runtime.newId();
    const connection = new Connection(context, id, acceptedHandshake, admission);
    this.add(connection, acceptedHandshake.session, handshakeRequest, admission);
  }

  addEventStream(
    context: ConnectionContext,
    streamRequest: EventStreamRequest,
    response: ServerResponse,
    headers: HeaderMap,
    handshakeRequest: HandshakeRequest,
    admission: Admission,
  ): void {
    const id = context.runtime.newId();
    const peer = createEventStream(context, { response, headers, id, ...streamRequest, admission });
    this.add(peer, streamRequest.session, handshakeRequest, admission);
  }

  private add(
    peer: Peer,
    session: string,
    { peer: { address }, request }: HandshakeRequest,
    { method, sender }: Admission,
  ): void {
    const { clock, emit, connections } = this.options;
    peer.known = connectionInfo({ session, address, method }, request.headers, clock.now());
    connections.add(peer);
    const { id: connection } = peer;
    emit("pico-server:connected", { connection, session, address, method, user: sender.id });
  }
}
