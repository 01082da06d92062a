import type { NftRecord } from '../../api/nft-record.ts'
import { formatTraitValue, readAttribute } from '../../api/traits.ts'
import { textOrJson } from '../../core/excerpt.ts'
import { isObject } from '../../core/json.ts'
import { PROVENANCE_SALT, PROVENANCE_SIGNATURE } from '../../manifest/reveal-keys.ts'
import type { ManifestRow } from '../../manifest/row.ts'
import type { FieldChange } from '../types.ts'

/** The metadata of a row, for a comparison with its NFT. */
export type ComparedMetadata = Pick<ManifestRow, 'metadata'> & {
  /** Local files with their future URLs. Null if the URL isn't known before the upload. */
  localFiles: readonly { key: string; url: string | null }[]
}

type Fields = Map<string, string>

const SALT_FIELD = `extra:${PROVENANCE_SALT}`
const SIGNATURE_FIELD = `extra:${PROVENANCE_SIGNATURE}`

/** Returns the name of a file field in a list of changes. It is the same as the name of the field's column. */
export const fileFieldName = (key: string): string => (key === 'image' ? key : `file:${key}`)

export const isFileField = (field: string): boolean => field === 'image' || field.startsWith('file:')

/**
 * Returns whether users identify an NFT by a field. Attributes and extra keys don't identify an NFT, because dynamic
 * NFTs may legitimately exchange them.
 */
export const identifiesNft = (field: string): boolean =>
  field === 'title' || field === 'description' || isFileField(field)

/** Returns the differences between a row and its NFT in title, description, files, attributes and extra keys. */
export function rowMetadataChanges(
  { metadata, localFiles }: ComparedMetadata,
  nft: NftRecord,
  marker: string | null,
): FieldChange[] {
  const nftMetadata = nft.request_metadata
  const from = metadataFields(isObject(nftMetadata) ? nftMetadata : {})
  const to = metadataFields(metadata)
  for (const { key, url } of localFiles) {
    const field = fileFieldName(key)
    to.set(field, url ?? from.get(field) ?? 'a local file')
  }
  if (marker !== null) from.delete(`extra:${marker}`)
  // An update keeps the salt and signature of the NFT, even if those of the row differ.
  if (from.delete(SALT_FIELD)) {
    to.delete(SALT_FIELD)
    if (from.delete(SIGNATURE_FIELD)) to.delete(SIGNATURE_FIELD)
  }
  return [...new Set([...to.keys(), ...from.keys()])]
    .filter((field) => from.get(field) !== to.get(field))
    .map((field) => ({ field, from: from.get(field) ?? null, to: to.get(field) ?? null }))
}

/**
 * Returns the fields of metadata by name. Several attributes may have the same tag, and a tag may contain any
 * characters. Dates and types are spelled as in manifests: `2026-11-01` and `number,max=100`.
 */
export function metadataFields({ file_fields, attribute, ...texts }: Readonly<Record<string, unknown>>): Fields {
  const fields: Fields = new Map()
  for (const [name, value] of Object.entries(texts)) {
    fields.set(name === 'title' || name === 'description' ? name : `extra:${name}`, textOrJson(value))
  }
  for (const { key, url } of pairsIn(file_fields)) fields.set(fileFieldName(textOrJson(key)), textOrJson(url))
  for (const pair of pairsIn(attribute)) {
    const { display_type, max_value } = pair
    const trait = readAttribute(pair)
    const name = trait.tag
    let field = `attr:${name}`
    for (let copy = 2; fields.has(field); copy++) field = `attr#${copy}:${name}`
    fields.set(field, trait.display_type === 'date' ? formatTraitValue(trait) : trait.value)
    const maximum = max_value === undefined ? [] : [`max=${trait.max_value}`]
    const type = [...(display_type === undefined ? [] : [textOrJson(display_type)]), ...maximum].join()
    if (type !== '') fields.set(`type of ${field}`, type)
  }
  return fields
}

const pairsIn = (list: unknown): Readonly<Record<string, unknown>>[] =>
  Array.isArray(list) ? list.filter(isObject) : []
