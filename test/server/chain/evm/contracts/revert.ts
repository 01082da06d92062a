import { type ContractErrorName, decodeErrorResult } from 'viem'
import { gdnCollection, gdnFactory } from './contracts/generated/artifacts.ts'
import type { Hex } from './network.ts'

const ERRORS = [...gdnCollection.abi, ...gdnFactory.abi].filter((item) => item.type === 'error')

/** `Error` is a plain reason, `Panic` a failed check of the compiler's; `unknown` is none of our contracts' errors. */
export type RevertName =
  | ContractErrorName<typeof gdnCollection.abi>
  | ContractErrorName<typeof gdnFactory.abi>
  | 'Error'
  | 'Panic'
  | 'unknown'

export interface Revert {
  name: RevertName
  args: readonly unknown[]
}

/**
 * Names the error in what a reverted call returned.
 *
 * @example
 * decodeRevert(data) // { name: 'StaleStartId', args: [1n, 51n] }
 */
export function decodeRevert(data: Hex): Revert {
  try {
    const { errorName, args } = decodeErrorResult({ abi: ERRORS, data })
    return { name: errorName, args: args ?? [] }
  } catch {
    return { name: 'unknown', args: [] }
  }
}
