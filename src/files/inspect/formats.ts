import { sniffContentType } from '../content-type.ts'
import { checkBoxes } from './check-boxes.ts'
import { checkGif } from './check-gif.ts'
import { checkJpeg } from './check-jpeg.ts'
import { checkPng } from './check-png.ts'
import { checkWebp } from './check-webp.ts'
import type { FileWindow } from './file-window.ts'
import { ENDS_EARLY } from './reasons.ts'

/** Returns why a file can't be decoded, or null. */
export type FormatCheck = (file: FileWindow) => Promise<string | null>

interface Format {
  /** The name with an indefinite article. */
  name: string
  extension: string
  /**
   * Checks whether the file can be decoded. Without this function, only the first bytes are compared with the format.
   */
  check?: FormatCheck
}

export type FormatName =
  | ('png' | 'jpeg' | 'gif' | 'webp' | 'avif' | 'heif' | 'svg')
  | ('mp4' | 'webm' | 'mp3' | 'wav' | 'ogg' | 'flac' | 'glb' | 'pdf' | 'html' | 'text')

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  png: { name: 'a PNG image', extension: '.png', check: checkPng },
  jpeg: { name: 'a JPEG image', extension: '.jpg', check: checkJpeg },
  gif: { name: 'a GIF image', extension: '.gif', check: checkGif },
  webp: { name: 'a WebP image', extension: '.webp', check: checkWebp },
  avif: { name: 'an AVIF image', extension: '.avif', check: (file) => checkBoxes(file, 'image') },
  heif: { name: 'a HEIF image', extension: '.heic', check: (file) => checkBoxes(file, 'image') },
  svg: { name: 'an SVG image', extension: '.svg', check: checkSvg },
  mp4: { name: 'an MP4 or QuickTime file', extension: '.mp4', check: (file) => checkBoxes(file, 'movie') },
  webm: { name: 'a WebM or Matroska file', extension: '.webm' },
  mp3: { name: 'an MP3 file', extension: '.mp3' },
  wav: { name: 'a WAV file', extension: '.wav' },
  ogg: { name: 'an Ogg file', extension: '.ogg' },
  flac: { name: 'a FLAC file', extension: '.flac' },
  glb: { name: 'a GLB model', extension: '.glb', check: checkGlb },
  pdf: { name: 'a PDF file', extension: '.pdf' },
  html: { name: 'an HTML page', extension: '.html' },
  text: { name: 'a text file', extension: '.txt' },
}

/** Formats, keyed by extension. Other extensions don't imply a format. */
export const FORMAT_BY_EXTENSION: Readonly<Record<string, FormatName>> = {
  '.png': 'png',
  '.apng': 'png',
  '.jpg': 'jpeg',
  '.jpeg': 'jpeg',
  '.jpe': 'jpeg',
  '.jfif': 'jpeg',
  '.gif': 'gif',
  '.webp': 'webp',
  '.avif': 'avif',
  '.heic': 'heif',
  '.heif': 'heif',
  '.svg': 'svg',
  '.mp4': 'mp4',
  '.m4v': 'mp4',
  '.m4a': 'mp4',
  '.mov': 'mp4',
  '.webm': 'webm',
  '.mkv': 'webm',
  '.mp3': 'mp3',
  '.wav': 'wav',
  '.ogg': 'ogg',
  '.oga': 'ogg',
  '.ogv': 'ogg',
  '.opus': 'ogg',
  '.flac': 'flac',
  '.glb': 'glb',
  '.pdf': 'pdf',
  '.html': 'html',
  '.htm': 'html',
  '.xhtml': 'html',
  '.gltf': 'text',
  '.json': 'text',
  '.txt': 'text',
  '.md': 'text',
  '.csv': 'text',
}

const FORMAT_BY_CONTENT_TYPE: Readonly<Record<string, FormatName>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/avif': 'avif',
  'image/svg+xml': 'svg',
  'video/mp4': 'mp4',
  'audio/mp4': 'mp4',
  'video/quicktime': 'mp4',
  'video/webm': 'webm',
  'audio/mpeg': 'mp3',
  'audio/wav': 'wav',
  'audio/ogg': 'ogg',
  'model/gltf-binary': 'glb',
  'application/pdf': 'pdf',
  'text/html': 'html',
  'text/plain': 'text',
  'application/json': 'text',
  'model/gltf+json': 'text',
}

const HEIF_BRAND = /^(?:hei[cxms]|hev[cx]|mif1|msf1)$/
/** Matches the boxes with which a QuickTime file may begin, including files without `ftyp`. */
const FIRST_BOXES = /^(?:ftyp|moov|mdat|free|skip|wide|pnot)$/

/** Returns the format that the first bytes of a file indicate; null if they indicate none. */
export function detectFormat(head: Buffer): FormatName | null {
  const format = FORMAT_BY_CONTENT_TYPE[sniffContentType(head).split(';')[0] ?? '']
  if (format !== undefined) return format
  if (head.toString('latin1', 4, 8) === 'ftyp') return HEIF_BRAND.test(head.toString('latin1', 8, 12)) ? 'heif' : 'mp4'
  if (head.toString('latin1', 0, 4) === 'fLaC') return 'flac'
  // These are big-endian WAV files, and WAV files larger than 4 GB.
  if (/^(?:RIFX|RF64|BW64).{4}WAVE/s.test(head.toString('latin1', 0, 12))) return 'wav'
  if (head.length > 4 && head.readUInt32BE(0) === 0x1a45dfa3) return 'webm'
  return null
}

const TEXT_FORMATS: readonly (FormatName | null)[] = ['text', 'svg', 'html', null]

/** Returns whether the first bytes of a file match the format of its extension. */
export function matchesFormat(head: Buffer, actual: FormatName | null, expected: FormatName): boolean {
  if (actual === expected) return true
  switch (expected) {
    case 'mp4':
      return actual === null && FIRST_BOXES.test(head.toString('latin1', 4, 8))
    // Text has no signature and may have any encoding.
    case 'text':
    case 'html':
      return TEXT_FORMATS.includes(actual)
    default:
      return false
  }
}

/** Checks the header and the first chunk of a GLB file. */
async function checkGlb(file: FileWindow): Promise<string | null> {
  const header = await file.read(0, 21)
  if (header.length < 20) return ENDS_EARLY
  if (header.readUInt32LE(8) > file.size) return ENDS_EARLY
  // GLB version 1 has no chunks.
  if (header.readUInt32LE(4) === 1) return null
  if (header.toString('latin1', 16, 20) !== 'JSON') return 'its first chunk is not JSON'
  if (20 + header.readUInt32LE(12) > file.size) return ENDS_EARLY
  return header[20] === 0x7b ? null : 'its first chunk is not JSON'
}

const TAIL_BYTES = 1024

/** Checks that an SVG ends with a tag or a comment. */
async function checkSvg(file: FileWindow): Promise<string | null> {
  const tail = await file.read(Math.max(0, file.size - TAIL_BYTES), TAIL_BYTES)
  // Remove the NUL bytes that UTF-16 text has next to these characters.
  const text = tail.toString('latin1').replaceAll('\0', '').trimEnd()
  return text === '' || text.endsWith('>') ? null : ENDS_EARLY
}
