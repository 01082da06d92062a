import { GdnError } from '../core/errors.ts'
import { decodeNumber } from '../verify/abi.ts'
import type { CallResult, ChainReader } from '../verify/chain-reader.ts'
import { ORDINARY_ADDRESS } from '../verify/contract/interfaces.ts'
import { CALLS } from './calls.ts'
import type { Standard } from './transfers.ts'

const INTERFACE_IDS = { erc721: '80ac58cd', erc1155: 'd9b67a26' }

/**
 * Returns the token standard of a contract, based on ERC-165 or else on the functions of the contract. Returns null if
 * several standards match. The first event then determines the standard.
 *
 * @throws GdnError `usage` if the contract follows none of the standards, `bad_answer` if the node can't call the
 * contract
 */
export async function detectStandard(
  reader: Pick<ChainReader, 'call' | 'origin'>,
  contract: string,
  block: string,
): Promise<Standard | null> {
  const data = [
    CALLS.supportsInterface(INTERFACE_IDS.erc721),
    CALLS.supportsInterface(INTERFACE_IDS.erc1155),
    CALLS.balanceOf(ORDINARY_ADDRESS),
    CALLS.totalSupply(),
    CALLS.decimals(),
    CALLS.ownerOf(1n),
    CALLS.ownerOf(0n),
  ]
  const calls = data.map((call) => ({ to: contract, data: call }))
  let results = await reader.call(calls, block)
  // A node without the state of the block can still return the current standard, which seldom changes.
  if (results.every(({ kind }) => kind === 'failed')) results = await reader.call(calls)
  const [is721, is1155, balance, supply, decimals, ...owners] = results.map(readNumber)
  const failed = results.find((result) => result.kind === 'failed')
  if (is721 === 1n && is1155 === 1n) return null
  if (is721 === 1n) return 'erc721'
  if (is1155 === 1n) return 'erc1155'
  if (balance !== null && owners.some((owner) => owner !== null)) return 'erc721'
  if (balance !== null && supply !== null) return decimals === null ? null : 'erc20'
  if (failed?.kind === 'failed') {
    throw new GdnError('bad_answer', `${reader.origin} can't call the contract: ${failed.message}`)
  }
  throw new GdnError('usage', `${contract} is not an ERC-721, ERC-1155 or ERC-20 contract`, {
    place: { flag: '<contract>' },
    hint: 'Use the address of the token contract itself.',
  })
}

const readNumber = (result: CallResult): bigint | null => (result.kind === 'value' ? decodeNumber(result.data) : null)
