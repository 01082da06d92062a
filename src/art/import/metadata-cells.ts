import { isTraitType, TRAIT_TYPES } from '../../api/traits.ts'
import { isObject } from '../../core/json.ts'
import { quoted } from '../../core/quoted.ts'

/** A manifest row, converted from metadata. */
export interface MetadataCells {
  /** Cells, by column name. */
  cells: Map<string, string>
  /** The metadata field from which each column comes. */
  fields: Map<string, string>
  /** Fields for which manifests have no column. */
  omittedFields: string[]
  /** Number of attributes without a value. */
  emptyTraitCount: number
}

export type ReportProblem = (field: string, message: string, hint?: string) => void

/** Fields that HashLips and sugar add, but that aren't NFT metadata on EVM networks. */
const OMITTED_FIELDS = new Set([
  ...['dna', 'edition', 'date', 'compiler'],
  ...['symbol', 'seller_fee_basis_points', 'properties', 'collection', 'creators'],
])
/** Returns whether a manifest omits a field. */
export const isOmittedField = (field: string): boolean => OMITTED_FIELDS.has(field)

/** Fields that are converted to other columns or to files. */
const CONVERTED_FIELDS = new Set(['name', 'description', 'attributes', 'image', 'animation_url'])

/** Returns the cells for metadata, except its files. Reports values that a manifest doesn't support. */
export function metadataCells(metadata: Readonly<Record<string, unknown>>, report: ReportProblem): MetadataCells {
  const result: MetadataCells = { cells: new Map(), fields: new Map(), omittedFields: [], emptyTraitCount: 0 }
  const set = (column: string, field: string, text: string) => {
    result.cells.set(column, text)
    result.fields.set(column, field)
  }
  for (const [field, column] of [
    ['name', 'title'],
    ['description', 'description'],
  ] as const) {
    const value = metadata[field]
    if (typeof value === 'string' && value.trim() !== '') set(column, field, value)
    else if (value === undefined || value === '') report(field, 'is missing', `Add a ${field}.`)
    else report(field, 'must be text')
  }
  attributeCells(metadata.attributes, result, set, report)
  for (const [key, value] of Object.entries(metadata)) {
    if (CONVERTED_FIELDS.has(key) || value === '') continue
    const isScalar = ['string', 'number', 'boolean'].includes(typeof value)
    if (OMITTED_FIELDS.has(key) || !isScalar) result.omittedFields.push(key)
    else set(`extra:${key}`, key, String(value))
  }
  return result
}

function attributeCells(
  attributes: unknown,
  result: MetadataCells,
  set: (column: string, field: string, text: string) => void,
  report: ReportProblem,
): void {
  if (attributes === undefined || attributes === null) return
  if (!Array.isArray(attributes)) {
    report('attributes', 'must be a list')
    return
  }
  const tags = new Map<string, number>()
  for (const [index, attribute] of attributes.entries()) {
    const field = `attributes[${index}]`
    if (!isObject(attribute)) {
      report(field, 'must be an object with trait_type and value')
      continue
    }
    const { trait_type: tag, value, display_type: display, max_value: max } = attribute
    if (typeof tag !== 'string' || tag.trim() === '') {
      report(`${field}.trait_type`, tag === undefined ? 'is missing' : 'must be text')
      continue
    }
    if (value === '' || value === null) {
      result.emptyTraitCount++
      continue
    }
    if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
      report(`${field}.value`, value === undefined ? 'is missing' : 'must be text or a number')
      continue
    }
    const earlier = tags.get(tag.trim())
    if (earlier !== undefined) {
      report(
        `${field}.trait_type`,
        `is ${quoted(tag)}, which is also the trait_type of attributes[${earlier}]`,
        'Rename or delete one of the attributes.',
      )
      continue
    }
    tags.set(tag.trim(), index)
    // Marketplaces display a number without a type in the same way as the type "number".
    const type = display === undefined || display === null || display === '' ? inferType(value) : display
    if (type !== 'string' && !isTraitType(type)) {
      report(`${field}.display_type`, `must be one of ${TRAIT_TYPES.join(', ')}, or absent`)
      continue
    }
    const limit = typeof max === 'number' || typeof max === 'string' ? `,max=${max}` : ''
    set(type === 'string' ? `attr:${tag.trim()}` : `attr(${type}${limit}):${tag.trim()}`, field, String(value))
  }
}

const inferType = (value: unknown): string => (typeof value === 'number' ? 'number' : 'string')
