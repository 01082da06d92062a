import { decodeFunctionResult, encodeFunctionData, parseAbi } from 'viem'
import { GdnError } from '../../../../core/errors.ts'
import { RpcError } from '../../rpc/rpc-response.ts'
import { isExecutionError } from '../execution-error.ts'
import type { EvmNetwork, Hex } from '../network.ts'
import { atNewestBlock } from './at-newest-block.ts'

const ABI = parseAbi([
  'function VERSION() view returns (string)',
  'function getThreshold() view returns (uint256)',
  'function getOwners() view returns (address[])',
])

/** A Safe, which executes transactions that enough of its owners have signed. */
export interface Safe {
  address: Hex
  version: string
  /** Number of signatures that a transaction requires. */
  threshold: number
  owners: number
}

/** Matches the published versions: github.com/safe-global/safe-deployments */
const KNOWN_VERSION = /^1\.[0-5]\.0(?:\+L2)?$|^1\.1\.1$/

export const isKnownSafeVersion = (version: string): boolean => KNOWN_VERSION.test(version)

/** Matches the code of an account that delegates to a contract (EIP-7702) and is still controlled by its key. */
const DELEGATION_PATTERN = /^0xef0100/i

const USE_WALLET = 'Nothing was written. Omit --safe, and sign with --wallet.'

/** Returns whether an address is a contract, which has no key that could sign. The contract may be a Safe. */
export async function isContract(network: Pick<EvmNetwork, 'request'>, address: Hex): Promise<boolean> {
  const code = await network.request<Hex>('eth_getCode', [address, 'latest'])
  return code !== '0x' && !DELEGATION_PATTERN.test(code)
}

/**
 * Reads the state of a Safe at a single block.
 *
 * @param role the role of the Safe in the collection, for error messages
 * @throws GdnError `refused` if the address has no Safe that can execute transactions
 */
export const readSafe = (
  network: Pick<EvmNetwork, 'request' | 'blockchain'>,
  address: Hex,
  role: string,
): Promise<Safe> => atNewestBlock(network, (block) => readSafeAt(network, { address, role, block }))

async function readSafeAt(
  network: Pick<EvmNetwork, 'request' | 'blockchain'>,
  { address, role, block }: { address: Hex; role: string; block: Hex },
): Promise<Safe> {
  const notSafeError = (
    why: string,
    hint = 'Nothing was written. The account is a contract, so use the tools of that contract.',
  ) =>
    new GdnError('refused', `the ${role} ${address} is not a Safe on ${network.blockchain}: ${why}`, {
      place: { flag: '--safe' },
      hint,
    })
  const code = await network.request<Hex>('eth_getCode', [address, block])
  if (code === '0x') throw notSafeError('it has no code', USE_WALLET)
  if (DELEGATION_PATTERN.test(code)) throw notSafeError('the account delegates to a contract (EIP-7702)', USE_WALLET)
  const abi = ABI
  const read = async <Value>(functionName: 'VERSION' | 'getThreshold' | 'getOwners', decode: (data: Hex) => Value) => {
    const data = encodeFunctionData({ abi, functionName })
    try {
      return decode(await network.request<Hex>('eth_call', [{ to: address, data }, block]))
    } catch (error) {
      // Rethrow failures of the node. A contract that isn't a Safe reverts or returns other data instead.
      if (error instanceof GdnError || (error instanceof RpcError && !isExecutionError(error))) throw error
      throw notSafeError(`${functionName}() ${error instanceof RpcError ? 'reverts' : 'returns other data'}`)
    }
  }
  const version = await read('VERSION', (data) => decodeFunctionResult({ abi, functionName: 'VERSION', data }))
  const threshold = await read('getThreshold', (data) =>
    decodeFunctionResult({ abi, functionName: 'getThreshold', data }),
  )
  const owners = await read('getOwners', (data) => decodeFunctionResult({ abi, functionName: 'getOwners', data }))
  if (threshold === 0n) throw notSafeError('the threshold is 0, so the contract was never set up')
  if (threshold > BigInt(owners.length)) {
    throw notSafeError(`the contract requires ${threshold} signatures, but has ${owners.length} owners`)
  }
  return { address, version, threshold: Number(threshold), owners: owners.length }
}
