import { extname } from 'node:path'

/** How many bytes of a file {@link sniffContentType} can make use of. */
export const SNIFF_BYTES = 1024

const UNKNOWN = 'application/octet-stream'

const BY_EXTENSION: Record<string, string> = {
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
  '.html': 'text/html; charset=utf-8',
  '.htm': 'text/html; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
}

// Byte patterns at an offset, as the formats' own specifications have them; Latin-1, `.` stands for any byte.
const SIGNATURES: readonly (readonly [contentType: string, pattern: RegExp])[] = [
  ['image/png', /^\x89PNG\r\n\x1a\n/],
  ['image/jpeg', /^\xff\xd8\xff/],
  ['image/gif', /^GIF8[79]a/],
  ['image/webp', /^RIFF.{4}WEBP/s],
  ['image/avif', /^.{4}ftyp(?:avif|avis|.{8}(?:.{4}){0,8}?avif)/s],
  ['audio/mp4', /^.{4}ftypM4[AB] /s],
  ['video/quicktime', /^.{4}ftypqt {2}/s],
  ['video/mp4', /^.{4}ftyp(?:isom|iso[2-9]|mp4[12]|avc1|dash|mmp4|M4V |MSNV|3gp)/s],
  ['video/webm', /^\x1aE\xdf\xa3.{0,64}webm/s],
  ['audio/wav', /^RIFF.{4}WAVE/s],
  ['audio/ogg', /^OggS\0/],
  ['audio/mpeg', /^(?:ID3[\x02-\x04]|\xff[\xfb\xfa\xf3\xf2])/],
  ['model/gltf-binary', /^glTF[\x01\x02]\0\0\0/],
  ['application/pdf', /^%PDF-/],
]

// What may stand before the first tag: white space, comments, an XML declaration, processing instructions. Nothing
// follows in the pattern, and a doctype is cut off in a step of its own: one pattern for all would try every way of
// grouping hostile comments.
const PROLOGUE = /^(?:\s|<!--[\s\S]*?-->|<\?[\s\S]*?\?>)*/
const SVG_DOCTYPE = /^<!doctype\s+svg[^>[]*(?:\[[^\]]*\]\s*)?>/i
const SVG = /^<svg[\s>/]/i
const HTML =
  /^<(?:!doctype\s+html|html|head|body|title|meta|link|base|script|style|iframe|frameset|table|div|span|form|center|font|h[1-6]|p|a|br|b|i|img|noscript|main|section|article|header|nav)(?=[\s>/]|$)/i

/**
 * The content type of a file, by its name in a directory where it has a telling one, else by its first bytes
 * ({@link SNIFF_BYTES} are enough). `application/octet-stream` when neither tells.
 */
export function sniffContentType(firstBytes: Uint8Array, name?: string): string {
  const byName = name === undefined ? undefined : BY_EXTENSION[extname(name).toLowerCase()]
  return byName ?? byBytes(firstBytes.subarray(0, SNIFF_BYTES))
}

/** Whether bytes start a web page: what a missing file often turns out to be. */
export function looksLikeHtml(firstBytes: Uint8Array): boolean {
  return byBytes(firstBytes.subarray(0, SNIFF_BYTES)).startsWith('text/html')
}

function byBytes(bytes: Uint8Array): string {
  const latin1 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
  const signature = SIGNATURES.find(([, pattern]) => pattern.test(latin1))
  if (signature !== undefined) return signature[0]
  const text = decodeText(bytes)
  return text === null ? UNKNOWN : byText(text)
}

function byText(text: string): string {
  const start = text.replace(PROLOGUE, '')
  if (SVG.test(start.replace(SVG_DOCTYPE, '').replace(PROLOGUE, ''))) return 'image/svg+xml'
  if (HTML.test(start)) return 'text/html; charset=utf-8'
  if (/^\s*(?:\{\s*(?:"|\}|$)|\[\s*(?:[[{"\]\d-]|true|false|null|$))/.test(text)) {
    return /"asset"\s*:\s*\{[^}]*"version"/.test(text) ? 'model/gltf+json' : 'application/json'
  }
  return text.length > 0 ? 'text/plain; charset=utf-8' : UNKNOWN
}

/** UTF-8 (or UTF-16 with its mark) without control characters, else null. A character cut at the end doesn't matter. */
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
