import type { RpcError } from '../rpc/rpc-response.ts'

const REVERTED = 3

/**
 * Returns whether a node's error is the result of a call's execution, and therefore a valid response. Geth returns a
 * separate error code for a revert. Frontier returns an internal error with the return data. Other nodes indicate a
 * revert only in the message.
 */
export const isExecutionError = ({ code, data, message }: Pick<RpcError, 'code' | 'data' | 'message'>): boolean =>
  code === REVERTED ||
  (typeof data === 'string' && /^0x[0-9a-f]*$/i.test(data)) ||
  /\brevert(ed)?\b|\bout of gas\b|\bevm error\b/i.test(message)
