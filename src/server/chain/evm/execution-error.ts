import type { RpcError } from '../rpc/rpc-answer.ts'

const REVERTED = 3

/**
 * Whether a node's error tells how a call ended, and so is its answer. Geth has a code for a revert; Frontier calls it an
 * internal error, and adds what was returned; others have nothing but words.
 */
export const isExecutionError = ({ code, data, message }: Pick<RpcError, 'code' | 'data' | 'message'>): boolean =>
  code === REVERTED ||
  (typeof data === 'string' && /^0x[0-9a-f]*$/i.test(data)) ||
  /\brevert(ed)?\b|\bout of gas\b|\bevm error\b/i.test(message)
