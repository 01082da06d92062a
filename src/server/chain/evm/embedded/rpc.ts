import { hexQuantity } from '../../../../core/hex-quantity.ts'
import { isRecord } from '../../../../core/json.ts'
import { READ_METHODS } from '../../rpc/read-methods.ts'
import { isUnreachable, RPC_ERRORS, RpcError } from '../../rpc/rpc-response.ts'
import type { EvmNetwork } from '../network.ts'
import { sendRaw } from './send-raw.ts'

/** Read methods that execute a contract. */
const EXECUTING_METHODS = new Set(['eth_call', 'eth_createAccessList', 'eth_estimateGas'])

/**
 * Gas limit of a read that executes a contract, which takes about a quarter of a second on one core. Without this
 * limit, a read could use the gas of a whole block, and a batch of such reads would delay mints.
 */
const READ_GAS = 100_000_000
/**
 * Total gas limit of the reads in a batch, split equally among them. A hundred reads at the full limit would occupy a
 * core for 25 s.
 */
const BATCH_GAS = 1_000_000_000

const MAX_BATCH = 100

/** JSON-RPC code of EIP-7966: the transaction is in the pool but not in a block. */
const NOT_MINED = 4

type Id = string | number | null
type JsonRpcResponse =
  | { jsonrpc: '2.0'; id: Id; result: unknown }
  | { jsonrpc: '2.0'; id: Id; error: { code: number; message: string; data?: unknown } }

/**
 * Handles a request to the public JSON-RPC endpoint of an embedded chain (`POST /rpc/<blockchain>`). Accepts standard
 * read methods, and `eth_sendRawTransaction` and `eth_sendRawTransactionSync`, which go through the chain's sequencer
 * into its journal. Supports single calls and batches.
 *
 * @param body the parsed body. Strings in the body are never parsed again, so a check of the body covers them
 * @returns the response body for HTTP status 200; never rejects
 */
export async function handleRpc(chain: EvmNetwork, body: unknown): Promise<unknown> {
  if (!Array.isArray(body)) return respond(chain, body, { sent: Promise.resolve(), gas: READ_GAS })
  if (body.length === 0) return failure(null, RPC_ERRORS.invalidRequest, 'the batch is empty')
  if (body.length > MAX_BATCH) {
    return failure(
      null,
      RPC_ERRORS.invalidRequest,
      `a batch has at most ${MAX_BATCH} calls, but this one has ${body.length}`,
    )
  }
  // Transactions are submitted together and in order. A read sees the effects of the transactions before it in the
  // batch.
  let sent: Promise<unknown> = Promise.resolve()
  const gas = Math.min(READ_GAS, Math.floor(BATCH_GAS / body.filter(executes).length))
  return Promise.all(
    body.map((call: unknown) => {
      const response = respond(chain, call, { sent, gas })
      if (isSend(call)) sent = Promise.all([sent, response])
      return response
    }),
  )
}

/** The transactions that a call must wait for, and its gas limit. */
interface CallLimits {
  sent: Promise<unknown>
  gas: number
}

async function respond(chain: EvmNetwork, call: unknown, limits: CallLimits): Promise<JsonRpcResponse> {
  if (!isRecord(call)) return failure(null, RPC_ERRORS.invalidRequest, 'a call must be an object')
  const { method, params = [] } = call
  const id = isId(call.id) ? call.id : null
  if (call.jsonrpc !== '2.0' || typeof method !== 'string' || (call.id !== undefined && !isId(call.id))) {
    return failure(id, RPC_ERRORS.invalidRequest, 'a call must have jsonrpc "2.0", an id and a method')
  }
  if (!Array.isArray(params)) return failure(id, RPC_ERRORS.invalidParams, 'params must be a list')
  try {
    return { jsonrpc: '2.0', id, result: await dispatch(chain, method, params, limits) }
  } catch (error) {
    return describe(id, error)
  }
}

async function dispatch(
  chain: EvmNetwork,
  method: string,
  params: readonly unknown[],
  { sent, gas }: CallLimits,
): Promise<unknown> {
  if (method === 'eth_sendRawTransaction') return sendRaw(chain, params)
  if (method === 'eth_sendRawTransactionSync') return sendAndWait(chain, params)
  // The endpoint doesn't sign for clients, so it has no accounts.
  if (method === 'eth_accounts') return []
  if (!READ_METHODS.has(method))
    throw new RpcError(RPC_ERRORS.methodNotFound, `the method ${method.slice(0, 80)} is not available`)
  await sent
  return chain.request(method, EXECUTING_METHODS.has(method) ? capGas(params, gas) : params)
}

function capGas([call, ...rest]: readonly unknown[], maxGas: number): readonly unknown[] {
  if (!isRecord(call)) return [call, ...rest]
  const gas = Number(call.gas ?? maxGas)
  return gas < maxGas ? [call, ...rest] : [{ ...call, gas: hexQuantity(maxGas) }, ...rest]
}

async function sendAndWait(chain: EvmNetwork, params: readonly unknown[]): Promise<unknown> {
  const hash = await sendRaw(chain, params)
  const receipt = await chain.request('eth_getTransactionReceipt', [hash])
  if (receipt === null)
    throw new RpcError(
      NOT_MINED,
      'the transaction is waiting for a transaction with a lower nonce from the same sender',
      hash,
    )
  return receipt
}

function describe(id: Id, error: unknown): JsonRpcResponse {
  if (error instanceof RpcError) return failure(id, error.code, error.message, error.data)
  if (isUnreachable(error)) return failure(id, RPC_ERRORS.server, "the chain's node did not respond: try again")
  return failure(id, RPC_ERRORS.internal, 'internal error')
}

function failure(id: Id, code: number, message: string, data?: unknown): JsonRpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message, data } }
}

function isSend(call: unknown): boolean {
  return isRecord(call) && typeof call.method === 'string' && call.method.startsWith('eth_sendRawTransaction')
}

function executes(call: unknown): boolean {
  return isRecord(call) && typeof call.method === 'string' && EXECUTING_METHODS.has(call.method)
}

function isId(value: unknown): value is Id {
  return value === null || typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}
