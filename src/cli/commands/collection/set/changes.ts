import { checksumAddress, evmAddressProblem } from '../../../../api/address.ts'
import { isSameAddress } from '../../../../api/same-address.ts'
import { flagError, GdnError } from '../../../../core/errors.ts'
import type { OwnerCall, OwnerSettings, Royalty } from '../../../../server/chain/evm/owner/settings.ts'
import { wrongAddressError } from '../../../command.ts'
import type { SetFlags } from './flags.ts'
import { maxSupplyChange } from './max-supply.ts'
import type { CollectionMetadataChange } from './metadata.ts'

/** A setting whose value differs from what the flags request. */
export interface SettingChange {
  setting: string
  before: unknown
  after: unknown
  /** Returns the contract call that makes the change. Uploads files first if necessary. */
  call(): Promise<OwnerCall>
  /** A call that is known before any upload and uses the same amount of gas as `call`. */
  estimate: OwnerCall
  /** Describes a change that can't be undone, for the prompt; undefined for other changes. */
  final?: string | undefined
}

/** A placeholder with the same length as the URI of an uploaded file. */
const PLACEHOLDER_URI = `ipfs://bafkrei${'a'.repeat(52)}`

/**
 * Returns the changes in the order in which they are sent. The transfer of ownership is last, because only the owner
 * can make the other changes.
 *
 * @param accepted number of NFTs that the server has accepted and that aren't minted yet
 * @throws GdnError `usage`; `refused` for changes that aren't possible
 */
export function settingChanges(
  flags: SetFlags,
  current: OwnerSettings,
  metadata: CollectionMetadataChange | null,
  accepted = 0,
): SettingChange[] {
  const plain = (setting: string, before: unknown, after: unknown, call: OwnerCall, final?: string): SettingChange => ({
    setting,
    before,
    after,
    estimate: call,
    call: async () => call,
    final,
  })
  const changes: SettingChange[] = []
  for (const [kind, value, is] of [
    ['enable_api', flags.enableApi, current.enableApi],
    ['enable_transfer', flags.enableTransfer, current.enableTransfer],
  ] as const) {
    if (value === undefined || value === is) continue
    if (current.revoked)
      throw refusedError(`the owner of the collection revoked all permissions of the service, so ${kind} can't be set`)
    changes.push(plain(kind, is, value, { kind, enabled: value }))
  }
  const royalty = resolveRoyalty(flags, current)
  if (!isSameRoyalty(royalty, current.royalty)) {
    changes.push(plain('royalty', shownRoyalty(current.royalty), shownRoyalty(royalty), { kind: 'royalty', royalty }))
  }
  const { contractUri: uri } = flags
  if (uri !== undefined && uri !== current.contractUri) {
    changes.push(plain('contract_uri', current.contractUri, uri, { kind: 'contract_uri', uri }))
  }
  if (metadata !== null) {
    changes.push({
      setting: 'metadata',
      before: metadata.before,
      after: metadata.after,
      call: async () => ({ kind: 'contract_uri', uri: await metadata.upload() }),
      estimate: { kind: 'contract_uri', uri: PLACEHOLDER_URI },
    })
  }
  if (flags.freeze && !current.frozen) {
    changes.push(plain('frozen', false, true, { kind: 'freeze' }, 'Freeze the metadata of all NFTs permanently'))
  }
  const limit = maxSupplyChange(flags.maxSupply, current, accepted)
  if (limit !== null) {
    const before = current.maxSupply === null ? null : Number(current.maxSupply)
    const final = `Limit the collection to ${limit} NFTs`
    changes.push(plain('max_supply', before, limit, { kind: 'max_supply', maxSupply: BigInt(limit) }, final))
  }
  changes.push(...createOwnershipChanges(flags, current, plain))
  return changes
}

type CreatePlainChange = (
  setting: string,
  before: unknown,
  after: unknown,
  call: OwnerCall,
  final?: string,
) => SettingChange

function createOwnershipChanges(
  flags: SetFlags,
  { owner, pendingOwner }: OwnerSettings,
  plain: CreatePlainChange,
): SettingChange[] {
  if (flags.newOwner !== undefined) {
    const to = parseWalletAddress(flags.newOwner, '--new-owner')
    if (to === pendingOwner || (to === owner && pendingOwner === null)) return []
    return [plain('pending_owner', pendingOwner, to, { kind: 'offer_ownership', to })]
  }
  if (!flags.acceptOwner) return []
  if (pendingOwner === null) {
    throw refusedError(
      'the ownership of the collection was not offered',
      'Ask the owner to offer the ownership with --new-owner <address>.',
    )
  }
  return [plain('owner', owner, pendingOwner, { kind: 'accept_ownership' })]
}

const refusedError = (message: string, hint?: string) => new GdnError('refused', message, { hint })

function resolveRoyalty(
  { royalty, royaltyReceiver }: SetFlags,
  { owner, royalty: current }: OwnerSettings,
): Royalty | null {
  if (royalty === undefined && royaltyReceiver === undefined) return current
  if (royalty === undefined && current === null) {
    throw flagError('--royalty-receiver', 'the collection has no royalty', 'Add --royalty <percent>.')
  }
  const basisPoints = royalty ?? current?.basisPoints ?? 0
  if (basisPoints === 0) return null
  const receiver =
    royaltyReceiver === undefined
      ? (current?.receiver ?? owner)
      : parseWalletAddress(royaltyReceiver, '--royalty-receiver')
  return { receiver, basisPoints }
}

function parseWalletAddress(text: string, flag: string): `0x${string}` {
  const problem = evmAddressProblem(text)
  if (problem !== null) throw wrongAddressError(text, problem, flag)
  return checksumAddress(text) as `0x${string}`
}

const isSameRoyalty = (a: Royalty | null, b: Royalty | null): boolean =>
  a === null || b === null ? a === b : isSameAddress(a.receiver, b.receiver) && a.basisPoints === b.basisPoints

const shownRoyalty = (royalty: Royalty | null) =>
  royalty === null ? null : { percent: royalty.basisPoints / 100, receiver: royalty.receiver }

/** Formats a value for display, such as `5% to 0x…`, or the fields of metadata. */
export function settingText(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if ('percent' in value && 'receiver' in value) return `${value.percent}% to ${value.receiver}`
  return Object.entries(value)
    .map(([key, field]) => `${key}: ${typeof field === 'string' ? field : JSON.stringify(field)}`)
    .join(', ')
}
