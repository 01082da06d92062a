import { GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { isUint256, parseUint } from './uint256.ts'

/** The members of SeaDrop 1.0's struct MintParams, in order. All members except the last are uint256. */
export const MINT_PARAMS = [
  'mintPrice',
  'maxTotalMintableByWallet',
  'startTime',
  'endTime',
  'dropStageIndex',
  'maxTokenSupplyForStage',
  'feeBps',
  'restrictFeeRecipients',
] as const

type ParamName = (typeof MINT_PARAMS)[number]
export type MintParams = Record<Exclude<ParamName, 'restrictFeeRecipients'>, bigint> & {
  restrictFeeRecipients: boolean
}

const MAX_BASIS_POINTS = 10_000n
/** Maximum start time in seconds, which is in the year 5138. A larger value is most likely in milliseconds. */
const MAX_START_SECONDS = 100_000_000_000n

/**
 * Checks the MintParams in a JSON file. Numbers that JavaScript can't represent exactly must be strings.
 *
 * @param counts whether the list has counts, so that `maxTotalMintableByWallet` may be missing. If the field is
 * missing, its value in the result is null.
 * @throws GdnError `invalid_input` for the first problem, with the field
 */
export function checkMintParams(
  fields: Record<string, unknown>,
  file: string,
  counts: boolean,
): Omit<MintParams, 'maxTotalMintableByWallet'> & { maxTotalMintableByWallet: bigint | null } {
  const paramError = (field: string, message: string, hint?: string) =>
    new GdnError('invalid_input', `${field} ${message}`, { place: { file, field }, hint })
  for (const key of Object.keys(fields)) {
    if ((MINT_PARAMS as readonly string[]).includes(key)) continue
    const near = nearest(key, MINT_PARAMS)
    throw paramError(key, 'is not a member of MintParams', near ? `Did you mean ${near}?` : undefined)
  }
  const uint = (name: ParamName): bigint => {
    const value = fields[name]
    if (value === undefined) throw paramError(name, 'is required')
    if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
      throw paramError(name, 'is too large for a JSON number', 'Write the number in quotes, as a string of digits.')
    }
    const parsed = typeof value === 'string' || typeof value === 'number' ? parseUint(String(value)) : null
    if (parsed === null || !isUint256(parsed)) throw paramError(name, 'must be a whole number from 0 to 2^256-1')
    return parsed
  }
  const isFromList = counts && fields.maxTotalMintableByWallet === undefined
  const params = {
    mintPrice: uint('mintPrice'),
    maxTotalMintableByWallet: isFromList ? null : uint('maxTotalMintableByWallet'),
    startTime: uint('startTime'),
    endTime: uint('endTime'),
    dropStageIndex: uint('dropStageIndex'),
    maxTokenSupplyForStage: uint('maxTokenSupplyForStage'),
    feeBps: uint('feeBps'),
  }
  const { restrictFeeRecipients } = fields
  if (restrictFeeRecipients === undefined) throw paramError('restrictFeeRecipients', 'is required')
  if (typeof restrictFeeRecipients !== 'boolean') throw paramError('restrictFeeRecipients', 'must be true or false')
  if (params.maxTotalMintableByWallet === 0n) throw paramError('maxTotalMintableByWallet', 'must be at least 1')
  if (params.startTime > MAX_START_SECONDS) throw paramError('startTime', 'must be in seconds, not milliseconds')
  if (params.endTime < params.startTime) throw paramError('endTime', 'must not be before startTime')
  if (params.dropStageIndex === 0n) throw paramError('dropStageIndex', 'must be at least 1: 0 is the public stage')
  if (params.maxTokenSupplyForStage === 0n) throw paramError('maxTokenSupplyForStage', 'must be at least 1')
  if (params.feeBps > MAX_BASIS_POINTS) throw paramError('feeBps', `must be at most ${MAX_BASIS_POINTS}`)
  return { ...params, restrictFeeRecipients }
}
