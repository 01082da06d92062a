import { GdnError } from '../../../core/errors.ts'

/** Error codes of JSON-RPC. */
export const RPC_ERRORS = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** The request is valid, but it can't be served at the moment, or the node rejects the transaction. */
  server: -32000,
} as const

/** A JSON-RPC error that the node returned. */
export class RpcError extends Error {
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.name = 'RpcError'
    this.code = code
    this.data = data
  }
}

export interface RpcCall {
  method: string
  params: readonly unknown[]
}

export type RpcResponse = { result: unknown } | { error: RpcError }

export const isUnreachable = (error: unknown): error is GdnError =>
  error instanceof GdnError && error.code === 'unreachable'

/** Returns whether an error means that no node responded, or that a node rejected the request. */
export const isRpcFailure = (error: unknown): error is Error => error instanceof RpcError || isUnreachable(error)
