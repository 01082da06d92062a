import { isObject } from '../core/json.ts'
import { MAX_FILES_PER_TOKEN } from './limits.ts'

/** A file to which metadata refers. */
export interface NamedUrl {
  /** The place in the metadata, such as `properties.files[0].uri`. */
  field: string
  url: string
}

/**
 * Keys whose value is a file even if it is an http(s) or data URL. Other keys, such as `external_url`, contain the URLs
 * of pages.
 */
const FILE_KEY =
  /^(?:image|image_?ur[il]|image_?original_?ur[il]|animation_?ur[il]|video_?ur[il]|audio_?ur[il]|model_?ur[il]|thumbnail(?:_?ur[il])?|display_?uri|artifact_?uri|media(?:_?ur[il])?|uri|src|[a-z]+_image)$/i
const CONTENT_URL = /^(?:ipfs|ar):\/\//i
const ANY_URL = /^(?:[a-z][a-z0-9+.-]*:\/\/|data:)/i
/** Keys whose value is always a file. A value that isn't a URL is reported. */
const ALWAYS_FILE_FIELD = /^(?:image|image_url|animation_url)$/
/** Maximum number of values to examine. */
const MAX_VALUES = 100_000
const MAX_FIELD_LENGTH = 200

/**
 * Returns the files to which metadata refers, in order and each URL once. These are all ipfs and ar URLs, and other
 * URLs under keys for files.
 *
 * @returns `isCut` is true if there are or may be more files than were returned
 */
export function findFiles(metadata: unknown): { files: NamedUrl[]; isCut: boolean } {
  const files = new Map<string, NamedUrl>()
  const stack: { field: string; key: string; value: unknown }[] = [{ field: '', key: '', value: metadata }]
  let valueCount = 0
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { field, key, value } = next
    if (++valueCount > MAX_VALUES) return { files: [...files.values()], isCut: true }
    if (typeof value === 'string') {
      const url = value.trim()
      if (!isFileUrl(field, key, url) || files.has(url)) continue
      if (files.size === MAX_FILES_PER_TOKEN) return { files: [...files.values()], isCut: true }
      files.set(url, { field, url })
    } else if (isObject(value)) {
      // `stack` is a stack, so add the children in reverse to return files in the order of the metadata.
      const children = Array.isArray(value)
        ? value
            .slice(0, MAX_VALUES)
            .map((child, at) => ({ field: truncatePlace(`${field}[${at}]`), key, value: child as unknown }))
        : Object.entries(value)
            .slice(0, MAX_VALUES)
            .map(([name, child]) => ({ field: joinField(field, name), key: name, value: child }))
      for (const child of children.reverse()) stack.push(child)
    }
  }
  return { files: [...files.values()], isCut: false }
}

function isFileUrl(field: string, key: string, url: string): boolean {
  // The text of an SVG image is part of the metadata, not a file.
  if (url === '' || url.startsWith('<')) return false
  if (CONTENT_URL.test(url) || ALWAYS_FILE_FIELD.test(field)) return true
  return FILE_KEY.test(key) && ANY_URL.test(url)
}

const joinField = (field: string, name: string): string =>
  truncatePlace(`${field === '' ? '' : `${field}.`}${name.slice(0, MAX_FIELD_LENGTH)}`)

/** Truncates a place at each level, because metadata may be nested 100,000 levels deep. */
const truncatePlace = (text: string): string => text.slice(0, MAX_FIELD_LENGTH)
