import { hash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { lowercaseAddress } from './same-address.ts'

/** The metadata of an NFT, as sent by the client. */
type Metadata = Readonly<Record<string, unknown>>

/**
 * The receiver of an operation. If the receiver has an ENS name, the name identifies the receiver, so that the digest
 * stays the same if the address changes.
 */
interface Receiver {
  receiver_wallet_address: string
  receiver_name?: string | undefined
}

type NewNftFields = Receiver & { metadata: Metadata }

/** For each creating endpoint, the fields that identify an operation, together with the collection or account. */
export interface OperationFields {
  createnft: NewNftFields
  createnfttrans: NewNftFields & { sender_wallet_address?: string | undefined }
  transfernft: Receiver & {
    nft_gdn_id: string
    sender_wallet_address: string
    replaces_transfers?: number | undefined
  }
  creatednft: NewNftFields
  updatednft: { nft_gdn_id: string; metadata: Metadata; replaces_revision?: number | undefined }
  freezenft: { nft_gdn_ids: readonly string[]; replaces_revisions?: readonly number[] | undefined }
  burnnft: { nft_gdn_id: string; holder_wallet_address: string }
  commitprovenance: { provenance: string }
  createcollection: {
    blockchain: string
    name: string
    wallet_address: string
    description?: string | undefined
    image?: string | undefined
    enable_api?: boolean | undefined
    enable_transfer?: boolean | undefined
    is_locked?: boolean | undefined
    /** The following fields have no defaults, so that older digests without these fields stay valid. */
    dynamic?: true | undefined
    enable_burn?: true | undefined
    royalty_bps?: number | undefined
    royalty_receiver?: string | undefined
    max_supply?: number | undefined
  }
}

/** An endpoint whose operations may have reference IDs. */
export type OperationEndpoint = keyof OperationFields

/**
 * Default values of a collection's flags. The digest is therefore the same whether a flag is omitted or has its default
 * value.
 */
const DEFAULT_FIELDS: { readonly [Name in OperationEndpoint]: Partial<OperationFields[Name]> } = {
  createnft: {},
  createnfttrans: {},
  transfernft: {},
  creatednft: {},
  updatednft: {},
  freezenft: {},
  burnnft: {},
  commitprovenance: {},
  createcollection: { enable_api: true, enable_transfer: false, is_locked: false },
}

/**
 * Returns the digest of an operation: `v1:` and the hexadecimal SHA-256 hash of its fields in canonical JSON (RFC
 * 8785). The digest doesn't depend on the grouping of requests, the order of keys, white space, or the case of EVM
 * addresses.
 *
 * Servers store digests permanently, so this definition never changes. A new definition would have another version.
 *
 * @example
 * const metadata = { title: 'Dawn', description: '', file_fields: [] }
 * operationDigest('createnft', { metadata, receiver_wallet_address })
 */
export function operationDigest<Name extends OperationEndpoint>(
  operation: Name,
  fields: OperationFields[Name],
): string {
  const isNamed = 'receiver_name' in fields && fields.receiver_name !== undefined
  const definedFields = Object.entries(fields).filter(
    ([name, value]) => value !== undefined && !(isNamed && name === 'receiver_wallet_address'),
  )
  const isAddress = (name: string) => name.endsWith('_address') || name === 'royalty_receiver'
  const normalizedFields = definedFields.map(([name, value]) => [
    name,
    isAddress(name) ? lowercaseAddress(value) : value,
  ])
  return `v1:${hash('sha256', canonicalJson({ ...DEFAULT_FIELDS[operation], ...Object.fromEntries(normalizedFields) }), 'hex')}`
}
