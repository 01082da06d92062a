import { GdnError } from '../../core/errors.ts'
import { encodeCall } from '../abi.ts'
import type { CallResult, ChainReader } from '../chain-reader.ts'

/** The answer of a contract, which is either a value or the reason why there is none. */
export type CallOutcome<Value> = { value: Value } | { problem: string }

/** A function to call, and a decoder for its result. The decoder returns null for malformed data. */
export interface ContractCall<Value> {
  /** Address of the contract to call. Default: the contract of the reader. */
  to?: string
  /** Signature of the function, such as `balanceOf(address)`. */
  signature: string
  args?: readonly (bigint | string)[] | undefined
  /**
   * Whether the result may be large and expensive, such as on-chain metadata. The call may then return up to 4 MiB and
   * use gas up to the node's limit.
   */
  isLarge?: boolean
  decode(data: string): Value | null
}

export interface ContractReader {
  call<Value>(questions: readonly ContractCall<Value>[]): Promise<CallOutcome<Value>[]>
  /** Reads storage slots, which proxies use for their addresses. */
  readStorage(slots: readonly string[]): Promise<CallOutcome<string>[]>
  /** Reads the code at an address. The code is `0x` if there is none. */
  codeAt(address: string): Promise<CallOutcome<string>>
}

/** Gas limit of a call. It suffices for any read-only function, but limits a result to about 1 MiB. */
const CALL_GAS = '0x2dc6c0'
const MAX_MESSAGE_LENGTH = 120
/** Maximum size of a result in bytes. */
const MAX_RESULT_BYTES = 128 * 1024
const MAX_LARGE_RESULT_BYTES = 4 * 1024 * 1024

type Node = Pick<ChainReader, 'call' | 'codeAt' | 'storageAt'>

/**
 * Creates a reader for a contract at one block, so that answers stay consistent even if a proxy is upgraded in the
 * meantime. If an answer can't be read, it contains the reason. The other answers aren't affected.
 *
 * @param block number of the block as a JSON-RPC quantity
 */
export function createContractReader(node: Node, contract: string, block: string): ContractReader {
  const orOneByOne = async <Asked>(calls: readonly Asked[], ask: (part: readonly Asked[]) => Promise<CallResult[]>) => {
    try {
      return await ask(calls)
    } catch (error) {
      // Results that are too large or too slow in a batch may be readable one by one.
      if (!isNodeError(error)) throw error
      const results: CallResult[] = []
      for (const question of calls) {
        const [result] = await ask([question]).catch((problem: unknown): CallResult[] => {
          if (!isNodeError(problem)) throw problem
          return [{ kind: 'failed', message: problem.message }]
        })
        results.push(result ?? { kind: 'failed', message: 'no response' })
      }
      return results
    }
  }
  return {
    async call(questions) {
      const calls = questions.map(({ to = contract, signature, args = [], isLarge = false }) => {
        const call = { to, data: encodeCall(signature, ...args) }
        return isLarge ? call : { ...call, gas: CALL_GAS }
      })
      const results = await orOneByOne(calls, (part) => node.call(part, block))
      return questions.map((question, at) => toOutcome(results[at], question))
    },
    async readStorage(slots) {
      const results = await orOneByOne(slots, (part) => node.storageAt(contract, part, block))
      return slots.map((_, at) => toOutcome(results[at], { decode: String }))
    },
    async codeAt(address) {
      const [result] = await orOneByOne([address], (addresses) => node.codeAt(addresses, block))
      return result?.kind === 'value' ? { value: result.data } : { problem: describeFailure(result) }
    },
  }
}

function toOutcome<Value>(
  result: CallResult | undefined,
  { decode, isLarge = false }: Pick<ContractCall<Value>, 'decode' | 'isLarge'>,
): CallOutcome<Value> {
  if (result?.kind !== 'value') return { problem: describeFailure(result) }
  if (result.data === '0x') return { problem: 'returns no data' }
  const maxBytes = isLarge ? MAX_LARGE_RESULT_BYTES : MAX_RESULT_BYTES
  if (result.data.length > 2 + 2 * maxBytes) return { problem: `returns more than ${maxBytes / 1024} KiB` }
  const value = decode(result.data)
  return value === null ? { problem: 'returns malformed data' } : { value }
}

/**
 * Returns the reason why a result has no value. Omits the text of a revert, because the contract chooses this text.
 */
function describeFailure(result: CallResult | undefined): string {
  if (result?.kind === 'reverted') return 'reverts'
  const message = result?.kind === 'failed' ? result.message : 'no response'
  return `failed on the node: ${message.slice(0, MAX_MESSAGE_LENGTH)}`
}

const isNodeError = (error: unknown): error is GdnError =>
  error instanceof GdnError && (error.code === 'unreachable' || error.code === 'bad_answer')

/** Returns the value of an answer, or null. */
export const valueOrNull = <Value>(answer: CallOutcome<Value> | undefined): Value | null =>
  answer !== undefined && 'value' in answer ? answer.value : null

/** Returns the reason why an answer has no value, or null if it has one. */
export const problemOrNull = (answer: CallOutcome<unknown>): string | null =>
  'problem' in answer ? answer.problem : null
