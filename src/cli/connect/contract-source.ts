import type { Settings } from '../../config/settings.ts'
import { GdnError } from '../../core/errors.ts'

/** Adds the source of a rejected contract address to a hint, unless the address is from a flag. */
export function withContractSource(error: unknown, settings: Settings | undefined): unknown {
  const contract = settings?.contract
  if (!(error instanceof GdnError) || !contract || contract.from.startsWith('--')) return error
  const isOfContract = /\bcollection\b/.test(error.message) && error.message.includes(contract.value)
  const isRejected = ['refused', 'not_found', 'invalid_input'].includes(error.code)
  if (!isRejected || !isOfContract) return error
  const source = `This contract is from ${contract.from}. To use another contract, add --contract <address>.`
  return error.with({ hint: error.hint === undefined ? source : `${source}\n${error.hint}` })
}
