import { count } from '../core/count.ts'
import { quoted } from '../core/quoted.ts'
import type { Column } from '../manifest/columns.ts'
import type { ManifestRow } from '../manifest/row.ts'
import { type FindingPlace, Findings, toPlace } from './finding.ts'
import { MediaChecks, type MediaUse } from './media-checks.ts'
import { TraitChecks } from './trait-checks.ts'

/** Metadata keys in which OpenSea looks for the image. */
const IMAGE_KEYS = ['image', 'image_data']
const USE_BY_KEY: Readonly<Record<string, MediaUse>> = { image: 'image', animation_url: 'animation' }

/** Checks the rows of a drop against OpenSea's rules. */
export class DropCheck {
  readonly findings: Findings
  readonly #traits: TraitChecks
  readonly #media: MediaChecks
  #rowCount = 0
  #skippedCount = 0
  #columns: readonly (Column | undefined)[] | null = null
  /** The columns of the last row, by kind and key. */
  #columnByKey = new Map<string, Column>()

  /** @param file the name of the manifest in messages */
  constructor(file: string) {
    this.findings = new Findings(file)
    this.#traits = new TraitChecks(this.findings)
    this.#media = new MediaChecks(this.findings)
  }

  /** @param columns null if the row is a metadata object */
  readonly add = (
    { line, metadata, localFiles }: ManifestRow,
    columns: readonly (Column | undefined)[] | null,
  ): void => {
    const row = ++this.#rowCount
    const at = (name: string, kind: 'file' | 'attr' | 'extra', key: string): FindingPlace =>
      toPlace({ row, line }, this.#columnByKey.get(`${kind}:${key}`), name)
    this.#index(columns)
    this.#traits.addRow(metadata.attribute ?? [], ({ tag }, index) => at(`attribute[${index}]`, 'attr', tag))
    const paths = new Map(localFiles.map(({ key, path }) => [key, path]))
    for (const { key, url } of metadata.file_fields) {
      const use = USE_BY_KEY[key]
      if (use === undefined) continue
      const path = paths.get(key)
      const usage = { use, at: at(key, 'file', key) }
      if (path === undefined) this.#media.addUrl(url, usage)
      else this.#media.addFile(path, usage)
    }
    const hasImage = metadata.file_fields.some(({ key }) => IMAGE_KEYS.includes(key)) || 'image_data' in metadata
    if (!hasImage) {
      const [rule, message] = ['image-missing', 'image is missing, so OpenSea shows no image'] as const
      this.findings.add({ ...at('image', 'file', 'image'), rule, message, fix: 'Add an image.' })
    }
    this.#checkExtras(metadata, (key) => at(key, 'extra', key))
  }

  /** Counts a row that isn't checked because it has a problem. */
  readonly skip = (): void => {
    this.#rowCount++
    this.#skippedCount++
  }

  /** Reads the local files, and reports the findings that are known only after the last row. */
  async finish(signal: AbortSignal): Promise<Findings> {
    this.#traits.finish(
      this.#skippedCount === 0 ? '' : ` among ${count(this.#rowCount - this.#skippedCount, 'valid row')}`,
    )
    await this.#media.finish(signal)
    return this.findings
  }

  /**
   * Indexes the columns of a row if they differ from the last row's columns. Most rows have the same columns as the row
   * before, and a manifest can have thousands of columns.
   */
  #index(columns: readonly (Column | undefined)[] | null): void {
    if (columns === this.#columns) return
    this.#columns = columns
    this.#columnByKey = new Map(
      (columns ?? []).flatMap((column) =>
        column !== undefined && 'key' in column.role
          ? [[`${column.role.kind}:${column.role.key}`, column] as const]
          : [],
      ),
    )
  }

  #checkExtras(metadata: ManifestRow['metadata'], at: (key: string) => FindingPlace): void {
    const { background_color: color, external_url: external, animation_url: animation } = metadata
    if (color !== undefined && !(typeof color === 'string' && /^[0-9a-f]{6}$/i.test(color))) {
      const message = `background_color must be six hexadecimal digits without #, not ${quotedValue(color)}`
      this.findings.add({ ...at('background_color'), rule: 'background-color', message, fix: 'Write 1A2B3C.' })
    }
    if (external !== undefined && !isWebAddress(external)) {
      const message = `external_url must be a URL, not ${quotedValue(external)}`
      this.findings.add({
        ...at('external_url'),
        rule: 'external-url',
        message,
        fix: 'Use a URL such as https://example.com/1.',
      })
    }
    if (typeof animation === 'string') this.#media.addUrl(animation, { use: 'animation', at: at('animation_url') })
  }
}

const quotedValue = (value: unknown) => quoted(typeof value === 'string' ? value : JSON.stringify(value))

const isWebAddress = (value: unknown) => typeof value === 'string' && /^https?:\/\/[^\s/]+\S*$/i.test(value)
