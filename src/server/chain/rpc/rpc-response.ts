import { GdnError } from '../../../core/errors.ts'

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
