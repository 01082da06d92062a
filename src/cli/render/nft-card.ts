import { METADATA_KEYS } from '../../api/metadata-keys.ts'
import { formatTraitValue, isTraitType, readAttribute } from '../../api/traits.ts'
import { isRecord } from '../../core/json.ts'
import type { CardRow, DataRecord, RecordCard } from './view.ts'

const CARD_FIELDS = [
  'status',
  'error',
  'pending_reason',
  'token_id',
  'sender_wallet_address',
  'receiver_wallet_address',
  'receiver_name',
  'contract_address',
  'blockchain',
  'metadata_url',
  'revision',
  'is_dynamic',
  'is_frozen',
]

type Json = Readonly<Record<string, unknown>>

export function findTitle({ request_metadata }: DataRecord): unknown {
  return isRecord(request_metadata) ? request_metadata.title : undefined
}

/** Returns a card for an NFT, with the requested metadata and the result. */
export function nftCard(record: DataRecord): RecordCard {
  const { request_metadata, files_not_stored: notStored, ...rest } = record
  return [
    ['nft_gdn_id', rest.nft_gdn_id],
    ...(rest.burned === true ? ([['burned', true]] as RecordCard) : []),
    ['title', findTitle(record)],
    ['description', isRecord(request_metadata) ? request_metadata.description : undefined],
    ...CARD_FIELDS.filter((field) => rest.burned !== true || field !== 'receiver_wallet_address').map(
      (field): CardRow => [field, rest[field]],
    ),
    ...(isRecord(request_metadata)
      ? toListRows(request_metadata, notStored)
      : ([['request_metadata', request_metadata]] as RecordCard)),
    ['accepted_date', rest.accepted_date],
  ]
}

function toListRows(metadata: Json, notStored: unknown): RecordCard {
  const extras = Object.entries(metadata).filter(([key]) => !METADATA_KEYS.has(key))
  return [
    [
      'files',
      markNotStored(
        toPairs(metadata.file_fields, 'key', ({ url }) => url),
        notStored,
      ),
    ],
    ['attributes', toPairs(metadata.attribute, 'tag', formatAttributeValue)],
    ['extras', extras],
  ]
}

/** Converts a list of objects such as `[{key, url}]` to pairs. Returns any other value unchanged. */
function toPairs(list: unknown, key: string, textOf: (item: Json) => unknown): unknown {
  if (!Array.isArray(list) || !list.every(isRecord)) return list
  return list.map((item): [unknown, unknown] => [item[key], textOf(item)])
}

const formatAttributeValue = (attribute: Json): unknown =>
  isTraitType(attribute.display_type) ? formatTraitValue(readAttribute(attribute)) : attribute.value

/** Marks the files that the server doesn't store. */
function markNotStored(files: unknown, notStored: unknown): unknown {
  if (!Array.isArray(files) || !Array.isArray(notStored)) return files
  return files.map((file) => (notStored.includes(file[0]) ? [file[0], `${file[1]} (not stored here)`] : file))
}
