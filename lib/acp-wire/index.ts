// The Agent Client Protocol, version 1: its messages, and JSON-RPC over lines.
export { RpcConnection, RpcError, rpcCodes, type ConnectionOptions } from "./connection.ts";
export * from "./schema.ts";
