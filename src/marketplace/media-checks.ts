import { open } from 'node:fs/promises'
import { extname } from 'node:path'
import { SNIFF_BYTES, sniffContentType } from '../files/content-type.ts'
import { canMeasure, IMAGE_HEAD_BYTES, readImageSize } from '../files/image-size.ts'
import { detectFormat, FORMAT_BY_EXTENSION, FORMATS, type FormatName } from '../files/inspect/formats.ts'
import type { FindingPlace, Findings } from './finding.ts'
import type { RuleName } from './rules.ts'

/** The use of a file in metadata. All other files are attachments, for which OpenSea has no rules. */
export type MediaUse = 'image' | 'animation'

const IMAGE_FORMATS: readonly FormatName[] = ['png', 'jpeg', 'gif', 'webp', 'avif', 'heif', 'svg']
/** The extensions that OpenSea supports in animation_url. `.html` and `.htm` are pages. */
const ANIMATION_EXTENSIONS = ['gltf', 'glb', 'webm', 'mp4', 'm4v', 'ogv', 'ogg', 'mp3', 'wav', 'oga', 'html', 'htm']
/** Extensions of pages that a server generates. */
const PAGE_EXTENSIONS = ['xhtml', 'php', 'asp', 'aspx', 'jsp', 'cgi']
/** Matches a text that looks like a file extension. A URL may also end with a dot and a token ID or version. */
const EXTENSION_PATTERN = /^\.(?=.*[a-z])[a-z0-9]{2,5}$/
/**
 * Placeholder for the extension of a local file that has none. URLs without an extension are accepted, because their
 * servers report the type.
 */
const NO_EXTENSION = 'none'
const MIN_IMAGE_PIXELS = 3000
const MAX_SVG_BYTES = 4 * 1024 * 1024
/** Matches scripts, event handlers and animations in an SVG. */
const MOTION_PATTERN = /<(?:\w+:)?(?:script|animate|animateMotion|animateTransform|set)\b|\son[a-z]+\s*=|@keyframes\b/i

interface MediaReference {
  use: MediaUse
  at: FindingPlace
}

/** Checks images and animations once for each file or URL. For URLs, checks only the extension. */
export class MediaChecks {
  /** The first place of each use of a file, by use and path. */
  readonly #files = new Map<string, MediaReference & { path: string }>()
  readonly #urls = new Set<string>()
  readonly #smallImages = { files: 0, largest: '', first: null as FindingPlace | null }
  readonly #findings: Findings

  constructor(findings: Findings) {
    this.#findings = findings
  }

  addFile(path: string, { use, at }: MediaReference): void {
    const key = `${use}:${path}`
    if (!this.#files.has(key)) this.#files.set(key, { use, at, path })
  }

  addUrl(url: string, { use, at }: MediaReference): void {
    const key = `${use}:${url}`
    if (this.#urls.has(key)) return
    this.#urls.add(key)
    this.#checkFormat(parseExtension(url), null, { use, at })
  }

  /** Reads and checks the local files. */
  async finish(signal: AbortSignal): Promise<void> {
    for (const { path, ...use } of this.#files.values()) {
      signal.throwIfAborted()
      await this.#checkFile(path, use)
    }
    const { files, first } = this.#smallImages
    if (first === null) return
    const which = files === 1 ? '1 image is' : `${files} images are`
    const message = `${which} smaller than ${MIN_IMAGE_PIXELS} x ${MIN_IMAGE_PIXELS} pixels (the first: ${this.#smallImages.largest})`
    this.#add(
      'image-pixels',
      first,
      message,
      `OpenSea recommends at least ${MIN_IMAGE_PIXELS} x ${MIN_IMAGE_PIXELS} pixels.`,
    )
  }

  async #checkFile(path: string, { use, at }: MediaReference): Promise<void> {
    const file = await open(path)
    try {
      const { size } = await file.stat()
      const head = Buffer.alloc(Math.min(size, IMAGE_HEAD_BYTES))
      await file.read(head, 0, head.length, 0)
      const format = detectFormat(head.subarray(0, SNIFF_BYTES))
      this.#checkFormat(extname(path).toLowerCase() || NO_EXTENSION, format, { use, at })
      if (use !== 'image') return
      if (format === 'svg') {
        const text = Buffer.alloc(Math.min(size, MAX_SVG_BYTES))
        await file.read(text, 0, text.length, 0)
        return this.#checkSvg(text, at)
      }
      const type = sniffContentType(head)
      const dimensions = canMeasure(type) ? readImageSize(head, type) : null
      if (dimensions === null || (dimensions.width >= MIN_IMAGE_PIXELS && dimensions.height >= MIN_IMAGE_PIXELS)) return
      this.#smallImages.files++
      this.#smallImages.largest ||= `${dimensions.width} x ${dimensions.height}`
      this.#smallImages.first ??= at
    } finally {
      await file.close()
    }
  }

  /** @param content the format of a file's content, or null if only the extension is known */
  #checkFormat(extension: string, content: FormatName | null, { use, at }: MediaReference): void {
    const format =
      content ?? (Object.hasOwn(FORMAT_BY_EXTENSION, extension) ? FORMAT_BY_EXTENSION[extension] : undefined)
    if (format === undefined) {
      this.#checkUnknown(extension, { use, at })
      return
    }
    const { name } = FORMATS[format]
    if (use === 'image') {
      if (IMAGE_FORMATS.includes(format)) return
      const fix = 'Use an image here, and animation_url for other media.'
      this.#add('image-type', at, `is ${name}, but OpenSea shows only images here`, fix)
      return
    }
    const shownExtension = extension === '' || extension === NO_EXTENSION ? FORMATS[format].extension : extension
    if (ANIMATION_EXTENSIONS.includes(shownExtension.slice(1))) return
    const fix = `Use one of the extensions ${ANIMATION_EXTENSIONS.join(', ')}.`
    this.#add(
      'animation-type',
      at,
      `is ${name} (${shownExtension}), which OpenSea doesn't support as an animation`,
      fix,
    )
  }

  /** Checks the extension of a file whose format gdn doesn't know. A URL may have no extension. */
  #checkUnknown(extension: string, { use, at }: MediaReference): void {
    const isNone = extension === NO_EXTENSION
    if (!isNone && !EXTENSION_PATTERN.test(extension)) return
    if (use === 'animation' && [...ANIMATION_EXTENSIONS, ...PAGE_EXTENSIONS].includes(extension.slice(1))) return
    const message = `has ${isNone ? 'an unknown format' : `the extension ${extension}`}, so OpenSea may not show it`
    const fix = `Use a common format, such as ${use === 'image' ? 'PNG, JPEG, GIF, WebP or SVG' : ANIMATION_EXTENSIONS.join(', ')}.`
    this.#add(`${use}-extension`, at, message, fix)
  }

  #checkSvg(bytes: Buffer, at: FindingPlace): void {
    // UTF-16 text has a NUL byte next to each ASCII character.
    const motion = MOTION_PATTERN.exec(bytes.toString('latin1').replaceAll('\0', ''))
    if (motion === null) return
    const message = 'is an SVG with scripts or animations, which OpenSea caches as a still PNG image'
    this.#add('image-motion', at, message, 'Use animation_url for an HTML page or a video, and a still image here.')
  }

  #add(rule: RuleName, at: FindingPlace, problem: string, fix: string): void {
    const message = rule === 'image-pixels' ? problem : `${at.column} ${problem}`
    this.#findings.add({ ...at, rule, message, fix })
  }
}

function parseExtension(url: string): string {
  try {
    return extname(new URL(url).pathname).toLowerCase()
  } catch {
    return ''
  }
}
