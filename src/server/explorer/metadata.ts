import { readAttribute, shownValue } from '../../api/traits.ts'
import { isContentUrl } from '../../core/ipfs-url.ts'
import { isRecord, parseJson } from '../../core/json.ts'
import type { FileField } from './media.ts'
import type { NftDetails } from './types.ts'

/** Maximum length of a title or URL in lists. It keeps responses small for any metadata. */
const MAX_IN_LIST = 500

export const cut = (text: string): string =>
  text.length <= MAX_IN_LIST ? text : `${text.slice(0, MAX_IN_LIST).toWellFormed()}…`

/** The parsed metadata of a request. Its content is untrusted. */
export interface ReadMetadata {
  title: string
  description: string | null
  attributes: NftDetails['attributes']
  fields: { key: string; url: string }[]
  /** The metadata as the client sent it. */
  whole: unknown
}

/** The part of the metadata that lists show. */
export type InLists = Pick<ReadMetadata, 'title' | 'fields'>

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

export function readJson(json: string | null): unknown {
  return json === null ? null : (parseJson(json) ?? null)
}

export function readMetadata(json: string): ReadMetadata {
  const whole = readJson(json)
  const { title, description, attribute, file_fields } = isRecord(whole) ? whole : {}
  return {
    title: textOf(title),
    description: typeof description === 'string' ? description : null,
    attributes: (Array.isArray(attribute) ? attribute : [])
      .filter(isRecord)
      .map(readAttribute)
      .map((one) => ({ trait_type: one.tag, value: shownValue(one) })),
    fields: (Array.isArray(file_fields) ? file_fields : [])
      .filter(isRecord)
      .map(({ key, url }) => ({ key: textOf(key), url: textOf(url) })),
    whole,
  }
}

/** Returns the files of an NFT, with their places if they are stored. */
export function fileFields({ fields }: Pick<ReadMetadata, 'fields'>, files: string | null): FileField[] {
  const stored = readJson(files)
  return fields.map(({ key, url }) => {
    const place = isRecord(stored) && Object.hasOwn(stored, key) ? textOf(stored[key]) : ''
    return { field: key, source: url, place: place === '' || isContentUrl(place) ? null : place }
  })
}

export const isoTime = (ms: number): string => new Date(ms).toISOString()
