import { type ContractErrorName, decodeErrorResult } from 'viem'
import { gdnCollection, gdnFactory } from '../../../../../src/server/chain/evm/contracts/generated/artifacts.ts'
import type { Hex } from '../../../../../src/server/chain/evm/network.ts'

const ERRORS = [...gdnCollection.abi, ...gdnFactory.abi].filter((item) => item.type === 'error')

/** `Error` is a plain reason, `Panic` a failed compiler check, `unknown` an error that our contracts don't define. */
export type RevertName =
  | ContractErrorName<typeof gdnCollection.abi>
  | ContractErrorName<typeof gdnFactory.abi>
  | 'Error'
  | 'Panic'
  | 'unknown'

/** The name of the error in the data of a reverted call. */
export function revertName(data: Hex): RevertName {
  try {
    return decodeErrorResult({ abi: ERRORS, data }).errorName
  } catch {
    return 'unknown'
  }
}
