import { constants, open } from 'node:fs/promises'
import { extname } from 'node:path'
import { SNIFF_BYTES } from '../content-type.ts'
import { contentProblem } from '../file-content.ts'
import { FileWindow } from './file-window.ts'
import { detectFormat, FORMAT_BY_EXTENSION, FORMATS, type FormatName, matchesFormat } from './formats.ts'

/** A problem with a local file, and its fix. In errors, the message follows the word "is". */
export interface FileProblem {
  message: string
  hint?: string
}

export interface Inspection {
  /** The reason why the file isn't minted; null if there is none. */
  problem: FileProblem | null
  /** The reason why some marketplaces may not display the file, or why the file may be damaged. */
  warning: string | null
  /** Whether the warning is about marketplaces and not about the file. */
  isMarketplaceWarning?: boolean
}

const HTML_NAMES = ['.html', '.htm', '.xhtml']
const EXPORT_AGAIN_HINT = 'Export or download the file again.'

/**
 * Reads a local file that is to become a file of an NFT, and compares its content with its extension. Checks headers
 * and structure, not pixels. Streams the file, so that any content needs at most 256 KiB of memory and time in
 * proportion to its size.
 */
export async function inspectFile(path: string): Promise<Inspection> {
  // Use O_NONBLOCK, so that opening a pipe doesn't block.
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
  try {
    const stats = await file.stat()
    if (!stats.isFile()) return problemInspection('not a regular file')
    const window = new FileWindow(file, stats.size)
    const head = Buffer.from(await window.read(0, SNIFF_BYTES))
    const extension = extname(path).toLowerCase()
    const page = contentProblem(head, { allowHtml: HTML_NAMES.includes(extension) })
    if (page !== null) return problemInspection(page)
    return await inspectContent(window, head, extension)
  } finally {
    await file.close()
  }
}

/**
 * Returns why an image is truncated or damaged; null if it seems complete. Ignores the file name. Checks headers and
 * structure, not pixels.
 */
export async function findDamage(path: string): Promise<string | null> {
  const file = await open(path)
  try {
    const window = new FileWindow(file, (await file.stat()).size)
    const format = detectFormat(Buffer.from(await window.read(0, SNIFF_BYTES)))
    return format === null ? null : ((await FORMATS[format].check?.(window)) ?? null)
  } finally {
    await file.close()
  }
}

const problemInspection = (message: string, hint?: string): Inspection => ({
  problem: hint === undefined ? { message } : { message, hint },
  warning: null,
})

const marketplaceInspection = (text: string | null): Inspection => ({
  problem: null,
  warning: text,
  isMarketplaceWarning: true,
})

async function inspectContent(window: FileWindow, head: Buffer, extension: string): Promise<Inspection> {
  const expected = Object.hasOwn(FORMAT_BY_EXTENSION, extension) ? FORMAT_BY_EXTENSION[extension] : undefined
  const actual = detectFormat(head)
  // Return only a warning, because many players skip data before the first frame of an MP3 file.
  if (expected === 'mp3' && actual === null) {
    return { problem: null, warning: 'does not start with MP3 data, despite its name' }
  }
  if (expected !== undefined && !matchesFormat(head, actual, expected)) return contradictionInspection(expected, actual)
  const format = expected ?? actual
  if (format === null || (expected === undefined && format === 'text')) {
    const type = extension === '' ? 'has an unknown type' : `has an unknown type (${extension})`
    return marketplaceInspection(`${type}, so marketplaces may not show it`)
  }
  if (format === 'text' && extension !== '.gltf')
    return marketplaceInspection(`is a text file (${extension}), which marketplaces may not show`)
  const { name, check } = FORMATS[format]
  const broken = (await check?.(window)) ?? null
  if (broken !== null) return problemInspection(`${name} that can't be decoded: ${broken}`, EXPORT_AGAIN_HINT)
  const limit = marketplaceWarning(format, window.size)
  return limit === null ? { problem: null, warning: null } : marketplaceInspection(limit)
}

function contradictionInspection(expected: FormatName, actual: FormatName | null): Inspection {
  const expectedName = FORMATS[expected].name
  if (actual === null || actual === 'text')
    return problemInspection(`not ${expectedName}, despite its name`, EXPORT_AGAIN_HINT)
  const { name, extension } = FORMATS[actual]
  return problemInspection(`${name}, despite its name`, `Rename the file to end in ${extension}, or replace the file.`)
}

/** The maximum file size of a marketplace, according to its documentation. */
interface MarketplaceLimit {
  marketplace: string
  bytes: number
  /** Formats to which the limit applies. */
  formats: readonly FormatName[]
  source: string
}

/**
 * docs/drops.md contains the same table. The table omits limits above the maximum size that gdn uploads, such as
 * OpenSea's 300 MB (https://docs.opensea.io/docs/media-and-traits).
 */
export const MARKETPLACE_LIMITS: readonly MarketplaceLimit[] = [
  {
    marketplace: 'Crypto.com NFT',
    bytes: 30_000_000,
    formats: ['png', 'jpeg', 'webp', 'gif'],
    source: 'https://help.crypto.com/en/articles/5588880-nft-creation',
  },
]

/** Returns a warning that names the marketplaces whose limit the file exceeds; null if there are none. */
function marketplaceWarning(format: FormatName, size: number): string | null {
  const over = MARKETPLACE_LIMITS.filter(({ bytes, formats }) => size > bytes && formats.includes(format))
  if (over.length === 0) return null
  const limits = over.map(({ marketplace, bytes }) => `${marketplace} (${bytes / 1_000_000} MB)`)
  return `is ${(size / 1_000_000).toFixed(1)} MB, more than the limit of ${limits.join(' and ')}`
}
