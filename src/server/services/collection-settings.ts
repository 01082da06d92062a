import { isBlockchain } from '../../api/blockchains.ts'
import type { CollectionSettings } from '../../api/endpoints/getcollectionsettings.ts'
import { isIpfsUrl } from '../../core/ipfs-url.ts'
import { parseRecord } from '../../core/json.ts'
import { withTimeout } from '../../core/with-timeout.ts'
import { DATA_URI, isInitialMetadata } from '../chain/contract-uri.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import type { ContractFacts } from '../pipeline/facts.ts'
import { findStored } from '../storage/find-stored.ts'
import { firstBytes } from '../storage/first-bytes.ts'
import type { CollectionRow } from '../store/collections.ts'
import type { ServiceDeps } from './services.ts'

/**
 * Timeout in milliseconds. The timeout is short, because the settings are only shown and no decision depends on them.
 */
const MAX_WAIT_MS = 3000
/** Maximum size of a collection's metadata, in bytes. */
const MAX_METADATA_BYTES = 64 * 1024

type SettingsDeps = Pick<ServiceDeps, 'chains' | 'storage'>
type Row = Pick<
  CollectionRow,
  | 'id'
  | 'blockchain'
  | 'contract_address'
  | 'status'
  | 'wallet_address'
  | 'enable_api'
  | 'enable_transfer'
  | 'frozen'
  | 'royalty_bps'
  | 'royalty_receiver'
  | 'max_supply'
  | 'description'
  | 'image'
>

/**
 * Returns the settings of a collection, read from its contract. If the chain doesn't respond in time, returns the
 * recorded values and the reason. The metadata is read only from the contract or this server's storage. No other URI is
 * fetched, because the owner can set any URI.
 *
 * @param remainingMs the time that the caller has left, in milliseconds
 */
export async function readCollectionSettings(
  deps: SettingsDeps,
  row: Row,
  remainingMs = MAX_WAIT_MS,
): Promise<CollectionSettings> {
  const recorded = recordedSettings(row)
  const contract = findContract(deps, row)
  if (contract === undefined) return recorded
  const current = await nullIfLate(contract.readSettings(row.contract_address), remainingMs)
  if (current === null) {
    const problem = `${row.blockchain} can't be read now, so the royalty, description and image are those from the creation request`
    return { ...recorded, problem }
  }
  const uri = current.contract_uri
  const described = await readDescription(deps, uri, recorded)
  const contract_uri = uri.startsWith(DATA_URI) ? null : uri
  return { ...recorded, ...current, contract_uri, is_read_from_chain: true, ...described }
}

/**
 * Returns the image of a collection according to its contract. Sends only one request to the chain, so that lists can
 * call it. If the chain doesn't respond in time, returns the recorded image.
 */
export async function readCollectionImage(deps: SettingsDeps, row: Row): Promise<string | null> {
  const contract = findContract(deps, row)
  const uri = contract === undefined ? null : await nullIfLate(contract.readMetadataUri(row.contract_address))
  return uri === null ? row.image : (await readDescription(deps, uri, row)).image
}

function findContract({ chains }: SettingsDeps, { blockchain, status }: Row): ContractFacts | undefined {
  if (status !== 'deployed' || !isBlockchain(blockchain)) return undefined
  return chainFacts(chains, blockchain).contract
}

/** Resolves with the result of `reading`, or with null if the chain doesn't respond in time. */
const nullIfLate = <Value>(reading: Promise<Value>, remainingMs = MAX_WAIT_MS): Promise<Value | null> =>
  withTimeout(
    reading.catch(() => null),
    Math.min(remainingMs, MAX_WAIT_MS),
  )

function recordedSettings(row: Row): CollectionSettings {
  return {
    transaction_gdn_id: row.id,
    is_read_from_chain: false,
    problem: null,
    wallet_address: row.wallet_address,
    pending_wallet_address: null,
    enable_api: row.enable_api === 1,
    enable_transfer: row.enable_transfer === 1,
    is_frozen: row.frozen === 1,
    royalty_bps: row.royalty_bps,
    royalty_receiver: row.royalty_receiver,
    max_supply: row.max_supply === null ? null : Number(row.max_supply),
    contract_uri: null,
    has_metadata: null,
    description: row.description,
    image: row.image,
    banner_image: null,
    external_link: null,
  }
}

const AS_CREATED = 'so the description and image are those from the creation request'

type DescribedCollection = Pick<
  CollectionSettings,
  'has_metadata' | 'description' | 'image' | 'banner_image' | 'external_link' | 'problem'
>

/**
 * Returns the content of a collection's metadata. Returns the recorded values if the owner hasn't set metadata, or if
 * the metadata can't be read. If the metadata can't be read, also returns the reason.
 */
async function readDescription(
  { storage }: SettingsDeps,
  uri: string,
  { description, image }: Pick<CollectionSettings, 'description' | 'image'>,
): Promise<DescribedCollection> {
  const recorded = { has_metadata: true, description, image, banner_image: null, external_link: null }
  const content = uri.startsWith(DATA_URI)
    ? Buffer.from(uri.slice(DATA_URI.length, DATA_URI.length + MAX_METADATA_BYTES * 2), 'base64')
    : isIpfsUrl(uri)
      ? await withTimeout(
          readStoredMetadata(storage, uri).catch(() => null),
          MAX_WAIT_MS,
        )
      : null
  if (content === null) return { ...recorded, problem: `its metadata is not stored here, ${AS_CREATED}` }
  const metadata = parseRecord(Buffer.from(content).toString('utf8'))
  if (metadata === null) return { ...recorded, problem: `its metadata is not a JSON object, ${AS_CREATED}` }
  if (isInitialMetadata(uri, metadata)) return { ...recorded, has_metadata: false, problem: null }
  const textIn = (field: string) => (typeof metadata[field] === 'string' ? metadata[field] : null)
  return {
    has_metadata: true,
    description: textIn('description'),
    image: textIn('image'),
    banner_image: textIn('banner_image'),
    external_link: textIn('external_link'),
    problem: null,
  }
}

async function readStoredMetadata(storage: SettingsDeps['storage'], uri: string): Promise<Uint8Array | null> {
  const file = await findStored(storage, uri, { ownOnly: true })
  if (file === null || file.content.size > MAX_METADATA_BYTES) return null
  return await firstBytes(file.content, MAX_METADATA_BYTES)
}
