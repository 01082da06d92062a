import { extname } from 'node:path'

/**
 * The number of bytes at the beginning of a file that {@link sniffContentType} uses. In some images, license comments
 * before the first tag take up to 12 KiB.
 */
export const SNIFF_BYTES = 16 * 1024
/** The number of bytes at the beginning of JSON that are searched for signs of glTF. */
const JSON_BYTES = 1024

const UNKNOWN_TYPE = 'application/octet-stream'
const HTML_TYPE = 'text/html; charset=utf-8'
const UTF8_MARK = /^\xef\xbb\xbf/

const TYPE_BY_EXTENSION: Record<string, string> = {
  '.json': 'application/json',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.avif': 'image/avif',
  '.svg': 'image/svg+xml',
  '.mp4': 'video/mp4',
  '.webm': 'video/webm',
  '.mp3': 'audio/mpeg',
  '.wav': 'audio/wav',
  '.ogg': 'audio/ogg',
  '.glb': 'model/gltf-binary',
  '.gltf': 'model/gltf+json',
  '.pdf': 'application/pdf',
  '.html': HTML_TYPE,
  '.htm': HTML_TYPE,
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
}

// Byte patterns from the specifications of the formats. The bytes are decoded as Latin-1, so `.` matches any byte.
const SIGNATURES: readonly (readonly [contentType: string, pattern: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n\x1a\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF.{4}WEBP/s],
  ['image/avif', /^\0\0.{2}ftyp(?:avif|avis|.{8}(?:.{4}){0,8}?avif)/s],
  ['audio/mp4', /^\0\0.{2}ftypM4[AB] /s],
  ['video/quicktime', /^\0\0.{2}ftypqt {2}/s],
  ['video/mp4', /^\0\0.{2}ftyp(?:isom|iso[2-9]|mp4[12]|avc1|dash|mmp4|M4V |MSNV|3gp)/s],
  ['video/webm', /^\x1aE\xdf\xa3.{0,64}webm/s],
  ['audio/wav', /^RIFF.{4}WAVE/s],
  ['audio/ogg', /^OggS\0/],
  ['audio/mpeg', /^(?:ID3[\x02-\x04]|\xff[\xfb\xfa\xf3\xf2])/],
  ['model/gltf-binary', /^glTF[\x01\x02]\0\0\0/],
  ['application/pdf', /^%PDF-/],
]

// White space, comments, an XML declaration and processing instructions may precede the first tag. A doctype is removed
// separately, because with one pattern for everything, hostile comments would cause catastrophic backtracking.
const PROLOGUE = /^(?:\s|<!--[\s\S]*?-->|<\?[\s\S]*?\?>)*/
const DOCTYPE = /^<!doctype\s[^>[]*(?:\[[^\]]*\]\s*)?>/i
const SVG_START = /^<svg[\s>/]/i
/** A comment, declaration or doctype that isn't closed. */
const UNCLOSED_MARKUP = /^<(?:!--|\?|!doctype\s)/i
/** Browsers and gateways treat content that begins with a comment as HTML. */
const COMMENT_FIRST = /^\s*<!--/
const HTML_START =
  /^<(?:!doctype\s+html|html|head|body|title|meta|link|base|script|style|iframe|frameset|table|div|span|form|center|font|h[1-6]|p|a|br|b|i|img|noscript|main|section|article|header|nav)(?=[\s>/]|$)/i

/**
 * Returns the content type of a file according to the extension of its name, or else according to its first bytes
 * ({@link SNIFF_BYTES} are enough). Returns `application/octet-stream` if neither indicates a type.
 *
 * @param name the file name, for a file in a directory
 */
export function sniffContentType(firstBytes: Uint8Array, name?: string): string {
  const byName = name === undefined ? undefined : TYPE_BY_EXTENSION[extname(name).toLowerCase()]
  return byName ?? sniffBytes(firstBytes.subarray(0, SNIFF_BYTES))
}

/**
 * Returns whether the first bytes of a file look like a web page. Servers often return a web page in place of a missing
 * file.
 */
export function looksLikeHtml(firstBytes: Uint8Array): boolean {
  return sniffBytes(firstBytes.subarray(0, SNIFF_BYTES)).startsWith('text/html')
}

function sniffBytes(bytes: Uint8Array): string {
  const latin1 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const signature = SIGNATURES.find(([, pattern]) => pattern.test(latin1))
  if (signature !== undefined) return signature[0]
  const text = decodeText(bytes)
  if (text !== null) return sniffText(text, { isCut: bytes.length >= SNIFF_BYTES })
  // The bytes may be a web page in an older encoding or with a stray control character.
  return isHtml(latin1.replace(UTF8_MARK, ''), { isCut: false }) ? HTML_TYPE : UNKNOWN_TYPE
}

/** Returns the text from its first tag on, both with the doctype (`start`) and without it (`root`). */
function findFirstTag(text: string): { start: string; root: string } {
  const start = text.replace(PROLOGUE, '')
  return { start, root: start.replace(DOCTYPE, '').replace(PROLOGUE, '') }
}

/** @param isCut whether the text is only the beginning of the file, so that the first tag may be missing */
function isHtml(text: string, { isCut }: { isCut: boolean }): boolean {
  const { start, root } = findFirstTag(text)
  if (HTML_START.test(start) || HTML_START.test(root)) return true
  if (SVG_START.test(root)) return false
  return COMMENT_FIRST.test(text) || (isCut && (root === '' || UNCLOSED_MARKUP.test(root)))
}

function sniffText(text: string, { isCut }: { isCut: boolean }): string {
  if (isHtml(text, { isCut })) return HTML_TYPE
  if (SVG_START.test(findFirstTag(text).root)) return 'image/svg+xml'
  if (/^\s*(?:\{\s*(?:"|\}|$)|\[\s*(?:[[{"\]\d-]|true|false|null|$))/.test(text)) {
    return /"asset"\s*:\s*\{[^}]*"version"/.test(text.slice(0, JSON_BYTES)) ? 'model/gltf+json' : 'application/json'
  }
  return text.length > 0 ? 'text/plain; charset=utf-8' : UNKNOWN_TYPE
}

/**
 * Decodes UTF-8, or UTF-16 with a BOM. Returns null if the bytes are invalid or the text contains control characters.
 * Ignores a truncated character at the end.
 */
function decodeText(bytes: Uint8Array): string | null {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : 'utf-8'
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes, { stream: true })
    return /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? null : text
  } catch {
    return null
  }
}
