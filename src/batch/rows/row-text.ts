import { hash as hashOnce } from 'node:crypto'
import { basename } from 'node:path'
import { METADATA_KEYS } from '../../api/metadata-keys.ts'
import { addressKey } from '../../api/same-address.ts'
import { type Attribute, isTraitType } from '../../api/traits.ts'
import type { ManifestRow } from '../../manifest/row.ts'

type Metadata = ManifestRow['metadata']

// With 80 bits, the probability of any collision among a million rows is 4e-13. If an attacker forces a collision, the
// second row counts as a copy of the first. It is still sent, so no row is lost.
const CONTENT_DIGITS = 20
const NO_LIST = '-'
/**
 * Precedes the length of an attribute list if the list contains a typed trait. Each attribute in such a list has four
 * parts.
 */
const TYPED_LIST_PREFIX = 'typed:'

/** Separates the parts of a row's text. The API contract rejects text that contains the separator. */
const SEPARATOR = '\0'

/**
 * Returns a row as text, without its line and ID. Equal rows have equal texts, regardless of how the manifest spells
 * them, and different rows have different texts. The text contains all parts in sequence, and the length of each list
 * precedes the list. For a million rows, JSON took twice as long, and JSON of objects with sorted keys took eight times
 * as long.
 */
export function contentText(row: ManifestRow): string {
  return formatParties(row) + nftText(row, extraKeys(row.metadata).sort())
}

type Parties = Pick<ManifestRow, 'receiver' | 'receiverName' | 'sender' | 'senderName'>

/**
 * Returns the receiver and sender of a row as text, which is equal for rows that can be in the same request. An ENS
 * name replaces its address, because the row stays the same if the name's address changes.
 */
export const formatParties = ({ receiver, receiverName, sender, senderName }: Parties): string =>
  (receiverName ?? addressKey(receiver)) + SEPARATOR + (senderName ?? addressKey(sender ?? ''))

/** Separates an address from its ENS name in a stored text. Neither can contain a space. */
const BEFORE_NAME = ' '

const storedParty = (address: string, name: string | undefined): string =>
  name === undefined ? address : address + BEFORE_NAME + name

/** Returns the address and the ENS name of a receiver or sender in a stored text. */
export function parseStoredParty(text: string): { address: string; name: string | undefined } {
  const end = text.indexOf(BEFORE_NAME)
  return end === -1 ? { address: text, name: undefined } : { address: text.slice(0, end), name: text.slice(end + 1) }
}

/** Returns a row in which addresses replace the ENS names. */
export const withoutNames = (row: ManifestRow): ManifestRow => ({
  ...row,
  receiverName: undefined,
  senderName: undefined,
})

export const hasNames = ({ receiverName, senderName }: Parties): boolean =>
  receiverName !== undefined || senderName !== undefined

/**
 * Returns a row's content text, its stored text, and `parties`, which are the receiver and sender as in the content
 * text. The stored text keeps the spelling of addresses and the order of extra keys, although neither affects the
 * identity of the row. It also has the addresses of ENS names.
 */
export function rowTexts(row: ManifestRow): { content: string; kept: string; parties: string } {
  const { receiver, receiverName, sender, senderName } = row
  const parties = formatParties(row)
  const keys = extraKeys(row.metadata)
  const nft = nftText(row, keys)
  const kept = storedParty(receiver, receiverName) + SEPARATOR + storedParty(sender ?? '', senderName) + nft
  return { content: parties + (isSorted(keys) ? nft : nftText(row, keys.sort())), kept, parties }
}

/** Returns a short hash of a row's content: NFT, receiver, sender and file paths, but not the line and ID. */
export function contentHash(row: ManifestRow): string {
  return hashContentText(contentText(row))
}

/**
 * Returns a short hash of a row's content that stays the same in a copy of the manifest. The copy may have reordered
 * columns, or be in another folder together with its local files.
 */
export function copyHash(row: ManifestRow): string {
  const { metadata, localFiles } = row
  const { file_fields, attribute } = metadata
  const names = localFiles.map(({ key, path }) => ({ key, path: basename(path) }))
  return contentHash({
    ...row,
    metadata: {
      ...metadata,
      file_fields: sortedByText(file_fields, ({ key, url }) => key + SEPARATOR + url),
      attribute: attribute && sortedByText(attribute, ({ tag, value }) => tag + SEPARATOR + value),
    },
    localFiles: sortedByText(names, ({ key, path }) => key + SEPARATOR + path),
  })
}

/**
 * Returns whether `contentHash` of a row is also its `copyHash`, because no part of the row depends on order or
 * location.
 */
export function isCopyHashContent({ metadata: { file_fields, attribute }, localFiles }: ManifestRow): boolean {
  return localFiles.length === 0 && file_fields.length < 2 && (attribute === undefined || attribute.length < 2)
}

function sortedByText<Item>(items: readonly Item[], textOf: (item: Item) => string): Item[] {
  const text = (item: Item, other: Item) => (textOf(item) < textOf(other) ? -1 : 1)
  return items.length < 2 ? [...items] : [...items].sort(text)
}

/** Returns the hash of a text from `contentText`. */
export function hashContentText(text: string): string {
  return hashOnce('sha256', text).slice(0, CONTENT_DIGITS)
}

function extraKeys(metadata: Metadata): string[] {
  const extras: string[] = []
  for (const key in metadata) if (!METADATA_KEYS.has(key)) extras.push(key)
  return extras
}

function isSorted(names: readonly string[]): boolean {
  for (let index = 1; index < names.length; index++) {
    if ((names[index - 1] ?? '') > (names[index] ?? '')) return false
  }
  return true
}

/** Returns the part of a row's text that follows the addresses: its metadata and local files. */
function nftText({ metadata, localFiles }: ManifestRow, extras: readonly string[]): string {
  const { title, description, file_fields, attribute } = metadata
  let text = SEPARATOR + title + SEPARATOR + description + SEPARATOR + file_fields.length
  for (const { key, url } of file_fields) text += SEPARATOR + key + SEPARATOR + url
  const isTyped = attribute?.some(({ display_type }) => display_type !== undefined) === true
  text +=
    SEPARATOR + (attribute === undefined ? NO_LIST : isTyped ? TYPED_LIST_PREFIX + attribute.length : attribute.length)
  for (const { tag, value, display_type = '', max_value = '' } of attribute ?? []) {
    text += SEPARATOR + tag + SEPARATOR + value
    if (isTyped) text += SEPARATOR + display_type + SEPARATOR + max_value
  }
  text += SEPARATOR + localFiles.length
  for (const { key, path } of localFiles) text += SEPARATOR + key + SEPARATOR + path
  for (const key of extras) text += SEPARATOR + key + SEPARATOR + String(metadata[key])
  return text
}

/** Splits a stored text into its parts. */
export function splitRowText(body: Uint8Array | ArrayBuffer): string[] {
  // libsql returns an ArrayBuffer, and node:sqlite returns a Uint8Array.
  const bytes = 'byteOffset' in body ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : Buffer.from(body)
  return bytes.toString('utf8').split(SEPARATOR)
}

/** Returns the stored text `before` with the metadata or the receiver replaced by that of the stored text `row`. */
export function replaceRowPart(before: Uint8Array, row: Uint8Array, part: 'metadata' | 'receiver'): Uint8Array {
  const [[owner = '', sender = '', ...nft], [receiver = '', , ...metadata]] = [splitRowText(before), splitRowText(row)]
  const mixed = part === 'metadata' ? [owner, sender, ...metadata] : [receiver, sender, ...nft]
  return Buffer.from(mixed.join(SEPARATOR))
}

/**
 * Restores a row from the parts of its stored text.
 *
 * @throws RangeError if the parts are damaged
 */
export function parseRowParts(parts: readonly string[]): Parties & Pick<ManifestRow, 'metadata' | 'localFiles'> {
  let at = 0
  const next = () => {
    const part = parts[at++]
    if (part === undefined) throw new RangeError('too few parts')
    return part
  }
  const list = <Item>(length: string, item: () => Item) => {
    if (length === NO_LIST) return null
    if (!(Number(length) <= parts.length)) throw new RangeError('no length')
    return Array.from({ length: Number(length) }, item)
  }
  const pairs = () => list(next(), () => [next(), next()] as const)
  const { address: receiver, name: receiverName } = parseStoredParty(next())
  const { address: from, name: senderName } = parseStoredParty(next())
  const [title, description] = [next(), next()]
  const metadata: Metadata = { title, description, file_fields: (pairs() ?? []).map(([key, url]) => ({ key, url })) }
  const length = next()
  const isTyped = length.startsWith(TYPED_LIST_PREFIX)
  const attribute = list(isTyped ? length.slice(TYPED_LIST_PREFIX.length) : length, () => {
    const trait: Attribute = { tag: next(), value: next() }
    const [type, max] = isTyped ? [next(), next()] : []
    if (isTraitType(type)) trait.display_type = type
    if (max !== undefined && max !== '') trait.max_value = max
    return trait
  })
  if (attribute !== null) metadata.attribute = attribute
  const localFiles = (pairs() ?? []).map(([key, path]) => ({ key, path }))
  while (at < parts.length) metadata[next()] = next()
  const row: ReturnType<typeof parseRowParts> = { receiver, sender: from === '' ? null : from, metadata, localFiles }
  if (receiverName !== undefined) row.receiverName = receiverName
  if (senderName !== undefined) row.senderName = senderName
  return row
}
