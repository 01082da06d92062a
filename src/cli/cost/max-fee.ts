import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { flagError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { parseUnits } from '../../core/units.ts'
import type { Parse } from '../command.ts'
import type { Connection, Deps } from '../deps.ts'

const GWEI_DECIMALS = 9
/** The maximum `max_fee_gwei` in a backend's configuration. */
const MAX_FEE_GWEI = 1_000_000n

/** Parses a fee in gwei. Returns wei. */
export const parseMaxFee: Parse<bigint> = Object.assign(
  (raw: string, flag: string) => {
    const wei = parseUnits(raw, GWEI_DECIMALS)
    if (wei !== null && wei > 0n && wei <= MAX_FEE_GWEI * 10n ** BigInt(GWEI_DECIMALS)) return wei
    throw flagError(flag, `must be a fee in gwei, such as 30 or 0.05, at most ${MAX_FEE_GWEI}, not ${quoted(raw)}`)
  },
  { takes: { type: 'string' } as const },
)

/**
 * Returns the maximum fee of a run in wei; null if the server doesn't limit fees.
 *
 * @throws GdnError `usage` on a blockchain whose fees can't be limited
 */
export async function checkFeeLimit(
  { io, signals }: Deps,
  wei: bigint,
  blockchain: Blockchain,
  { client, server }: Pick<Connection, 'client' | 'server'>,
): Promise<bigint | null> {
  if (!isEvm(blockchain)) throw flagError('--max-fee-gwei', `fees on ${blockchain} can't be limited`, 'Omit the flag.')
  await client.learnCapabilities({ signal: signals.signal })
  if (client.supports('runFees') === true) return wei
  io.warn(`${server.origin} doesn't enforce --max-fee-gwei. It pays the network's current fees.`)
  return null
}
