import * as z from 'zod'
import { UNSAFE_KEYS } from '../core/json.ts'
import { fileUrlProblem } from './file-url.ts'
import { METADATA_KEYS } from './metadata-keys.ts'
import { makeShortTextSchema, textProblem, textSchema } from './text.ts'
import { isTraitType, parseMaximum, parseTraitValue, TRAIT_TYPES } from './traits.ts'

/**
 * Maximum number of metadata items per NFT. The title, the description, each file field and each extra key are items
 * (API reference v1.2, NFT metadata).
 */
export const MAX_METADATA_ITEMS = 10
/** Maximum number of files per NFT. This is a separate limit in the reference (v1.1, Limits). */
export const MAX_FILE_FIELDS = 8
/**
 * Maximum number of NFTs in one request to a gdn backend. The reference has no limit, so clients of hosted services
 * don't check it.
 */
export const MAX_NFTS_PER_REQUEST = 1000

// Keys that ERC-721 metadata files use themselves.
export const RESERVED_EXTRA_KEYS = new Set(['name', 'image', 'attributes', 'nft_gdn_id'])
export const RESERVED_FILE_KEYS = new Set([
  'name',
  'title',
  'description',
  'attribute',
  'attributes',
  'file_fields',
  'nft_gdn_id',
])
export const MAX_KEY_LENGTH = 128

const keySchema = makeShortTextSchema(MAX_KEY_LENGTH)

export const fileUrlSchema = textSchema.check((context) => {
  const problem = fileUrlProblem(context.value)
  if (problem !== null) context.issues.push({ code: 'custom', message: problem, input: context.value })
})

export const fileFieldSchema = z.strictObject({ key: keySchema, url: fileUrlSchema })

/** A text. If the attribute has a `display_type`, the request may contain a JSON number instead. */
export const attributeValueSchema = textSchema.check()

export const attributeObjectSchema = z.strictObject({
  tag: keySchema,
  value: attributeValueSchema,
  display_type: z.enum(TRAIT_TYPES).optional(),
  max_value: z.optional(attributeValueSchema),
})

/** Checks the numbers of a typed trait. Replaces them with their shortest decimal texts. */
function normalizeTrait(rawTrait: unknown, context: z.core.ParsePayload): unknown {
  const { display_type: type, value, max_value } = Object(rawTrait) as Record<string, unknown>
  if (type === undefined && max_value === undefined) return rawTrait
  const add = (path: string, message: string) =>
    context.issues.push({ code: 'custom', path: [path], message, input: rawTrait })
  if (type === undefined) add('max_value', 'needs a display_type, such as number')
  if (!isTraitType(type)) return rawTrait
  const stringifyNumber = (number: unknown) => (typeof number === 'number' ? String(number) : number)
  const trait: Record<string, unknown> = { ...Object(rawTrait), value: stringifyNumber(value) }
  let max: string | undefined
  if (max_value !== undefined) {
    trait.max_value = stringifyNumber(max_value)
    const parsed = typeof trait.max_value === 'string' ? parseMaximum(type, trait.max_value) : null
    if (parsed !== null && 'problem' in parsed) add('max_value', parsed.problem)
    else if (parsed !== null) trait.max_value = max = parsed.text
  }
  const parsed = typeof trait.value === 'string' ? parseTraitValue(type, max, trait.value) : null
  if (parsed !== null && 'problem' in parsed) add('value', parsed.problem)
  else if (parsed !== null) trait.value = parsed.text
  return trait
}

const attributeSchema = z.preprocess(normalizeTrait, attributeObjectSchema)

function keyProblem(name: string, reserved: ReadonlySet<string>): string | null {
  if (UNSAFE_KEYS.has(name)) return 'is not allowed as a key'
  if (reserved.has(name)) return 'is a reserved key of the metadata file: choose another'
  if (name.trim() !== name || name === '') return 'must not be empty, or begin or end with whitespace'
  if (name.length > MAX_KEY_LENGTH) return `must have at most ${MAX_KEY_LENGTH} characters`
  return textProblem(name)
}

export function extraKeys(metadata: Readonly<Record<string, unknown>>): string[] {
  return Object.keys(metadata).filter((name) => !METADATA_KEYS.has(name))
}

/** Returns the number of metadata items. Attributes aren't counted, and their number isn't limited. */
export const countMetadataItems = (
  metadata: Readonly<Record<string, unknown>> & { file_fields: readonly unknown[] },
): number => 2 + metadata.file_fields.length + extraKeys(metadata).length

const TEXT_FIELDS_PROBLEM = 'is not a field of metadata: use a separate key for each text, such as "artist": "E. Tide"'

/**
 * Rejects `__proto__`, which zod omits silently, and field names of other APIs. For these names, zod would only reject
 * the value, or report that another field is missing.
 */
function rejectKeys(value: unknown, context: z.core.ParsePayload): unknown {
  if (value === null || typeof value !== 'object') return value
  const add = (path: (string | number)[], message: string) =>
    context.issues.push({ code: 'custom', path, message, input: value })
  if (Object.hasOwn(value, '__proto__')) add(['__proto__'], keyProblem('__proto__', UNSAFE_KEYS) ?? '')
  if (Object.hasOwn(value, 'attributes')) add(['attributes'], 'is not a field of metadata: did you mean "attribute"?')
  const { attribute, text_fields: texts } = value as { attribute?: unknown; text_fields?: unknown }
  if (typeof texts === 'object') add(['text_fields'], TEXT_FIELDS_PROBLEM)
  for (const [index, entry] of Array.isArray(attribute) ? attribute.entries() : []) {
    const { tag, trait_type: trait } = Object(entry) as { tag?: unknown; trait_type?: unknown }
    if (tag !== undefined || trait === undefined) continue
    add(['attribute', index, 'trait_type'], 'is not a field of an attribute: did you mean "tag"?')
  }
  return context.issues.length === 0 ? value : z.NEVER
}

export const metadataObjectSchema = z
  .object({
    title: textSchema.check(z.minLength(1, { error: 'must not be empty' })),
    description: textSchema,
    file_fields: z
      .array(fileFieldSchema)
      .max(MAX_FILE_FIELDS, { error: `must have at most ${MAX_FILE_FIELDS} entries` }),
    attribute: z.array(attributeSchema).optional(),
  })
  .catchall(textSchema)
  .check((context) => {
    const metadata = context.value
    const add = (path: (string | number)[], message: string) =>
      context.issues.push({ code: 'custom', path, message, input: metadata })
    const extras = extraKeys(metadata)
    for (const name of extras) {
      const problem = keyProblem(name, RESERVED_EXTRA_KEYS)
      if (problem !== null) add([name], problem)
    }
    const seenKeys = new Set<string>()
    for (const [index, field] of metadata.file_fields.entries()) {
      const problem = keyProblem(field.key, RESERVED_FILE_KEYS)
      if (problem !== null) add(['file_fields', index, 'key'], problem)
      else if (seenKeys.has(field.key)) add(['file_fields', index, 'key'], `"${field.key}" is repeated`)
      else if (extras.includes(field.key)) add(['file_fields', index, 'key'], `"${field.key}" is also an extra key`)
      seenKeys.add(field.key)
    }
    const items = countMetadataItems(metadata)
    if (items > MAX_METADATA_ITEMS) {
      add([], `has ${items} metadata items, but at most ${MAX_METADATA_ITEMS} are allowed`)
    }
  })

/** The metadata of an NFT in createnft and createnfttrans (API reference v1.1, NFT metadata). */
export const nftMetadataSchema = z.preprocess(rejectKeys, metadataObjectSchema)

export type NftMetadata = z.output<typeof nftMetadataSchema>

/** The parameter `metadata`: an object or a list. A single object becomes a list. */
export const nftMetadataListSchema = z.preprocess(
  (value) => (value === undefined || Array.isArray(value) ? value : [value]),
  z.array(nftMetadataSchema).min(1, { error: 'must have at least one metadata object' }),
)
