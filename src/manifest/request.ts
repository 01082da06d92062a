import { isBlockchain, isEvm } from '../api/blockchains.ts'
import { createnft } from '../api/endpoints/createnft.ts'
import { createnfttrans } from '../api/endpoints/createnfttrans.ts'
import { isEnsName } from '../api/ens-name.ts'
import { isSameAddress } from '../api/same-address.ts'
import { validate } from '../api/validate.ts'
import { GdnError } from '../core/errors.ts'
import type { RequestHead } from './json.ts'
import { addFieldName } from './manifest-error.ts'
import type { ManifestOptions } from './options.ts'
import type { ManifestIssue } from './row.ts'

/** Placeholder for an ENS name while the other members are checked. */
const SAMPLE_ADDRESS = `0x${'1'.repeat(40)}`
const SOLANA_SAMPLE = '1nc1nerator11111111111111111111111111111111'
const ADDRESSES = ['receiver_wallet_address', 'sender_wallet_address']
const SAMPLE_METADATA = [{ title: 'x', description: 'x', file_fields: [] }]

/**
 * Applies the members of a complete createnft or createnfttrans request, except its metadata. Flags set missing values,
 * and must not contradict the request.
 */
export function applyRequest(
  { line, members }: RequestHead,
  file: string,
  options: ManifestOptions,
): { options: ManifestOptions; issues: ManifestIssue[] } {
  const fromFlags: Record<string, unknown> = {
    contract_address: options.contractAddress ?? undefined,
    blockchain: options.blockchain ?? undefined,
    receiver_wallet_address: options.receiver ?? undefined,
    sender_wallet_address: options.sender ?? undefined,
  }
  const definedFlags = Object.fromEntries(Object.entries(fromFlags).filter(([, value]) => value !== undefined))
  const { members: resolvedMembers, problems } = withAddresses(members, options)
  const request: Record<string, unknown> = { ...definedFlags, ...resolvedMembers, metadata: SAMPLE_METADATA }
  const issue = (field: string, message: string): ManifestIssue => ({
    place: { file, line, field },
    message: `${field} ${message}`,
  })

  if (problems.length > 0) {
    return {
      options,
      issues: problems.map(({ field, error }) => ({
        place: { file, line, field },
        message: addFieldName(field, error),
        hint: error.hint,
      })),
    }
  }
  const isTransferred = Object.hasOwn(request, 'sender_wallet_address')
  const sample = withoutEnsNames(request, options)
  const checked = isTransferred ? validate(createnfttrans.request, sample) : validate(createnft.request, sample)
  if (!checked.ok) return { options, issues: checked.issues.map(({ field, message }) => issue(field, message)) }
  const issues = Object.keys(definedFlags)
    .filter((field) => !isSameAddress(String(definedFlags[field]), String(request[field])))
    .map((field) => issue(field, `is ${String(request[field])}, but the flag is ${String(definedFlags[field])}`))
  const { value } = checked
  return {
    options: {
      ...options,
      blockchain: value.blockchain,
      contractAddress: value.contract_address,
      receiver: String(request.receiver_wallet_address),
      sender: isTransferred ? String(request.sender_wallet_address) : null,
    },
    issues,
  }
}

/** Returns a request with placeholders for its ENS names, which are resolved when the rows are read. */
function withoutEnsNames(
  request: Readonly<Record<string, unknown>>,
  { ensNames }: ManifestOptions,
): Readonly<Record<string, unknown>> {
  if (ensNames === undefined) return request
  const { blockchain } = request
  const isSolana = typeof blockchain === 'string' && isBlockchain(blockchain) && !isEvm(blockchain)
  const sample = isSolana ? SOLANA_SAMPLE : SAMPLE_ADDRESS
  const sampleAddresses = ADDRESSES.filter((field) => isEnsName(request[field])).map((field) => [field, sample])
  return { ...request, ...Object.fromEntries(sampleAddresses) }
}

/** Returns the members with names such as `@alice` replaced by their addresses. */
function withAddresses(
  members: Readonly<Record<string, unknown>>,
  { addressOf }: ManifestOptions,
): { members: Record<string, unknown>; problems: { field: string; error: GdnError }[] } {
  const resolvedMembers: Record<string, unknown> = { ...members }
  const problems: { field: string; error: GdnError }[] = []
  for (const field of ADDRESSES) {
    const value = members[field]
    if (typeof value !== 'string' || !value.startsWith('@') || addressOf === undefined) continue
    try {
      resolvedMembers[field] = addressOf(value)
    } catch (error) {
      if (!(error instanceof GdnError)) throw error
      problems.push({ field, error })
    }
  }
  return { members: resolvedMembers, problems }
}
