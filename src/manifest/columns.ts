import { MAX_FILE_FIELDS, nftMetadataSchema } from '../api/metadata.ts'
import { METADATA_KEYS } from '../api/metadata-keys.ts'
import { tagProblem } from '../api/tag-problem.ts'
import { isTraitType, parseMaximum, TRAIT_TYPES, type TraitType } from '../api/traits.ts'
import { validate } from '../api/validate.ts'
import { nearest } from '../core/nearest.ts'
import { quoted } from '../core/quoted.ts'
import { shellWord } from '../core/shell-word.ts'

/** The meaning of a manifest column. */
export type ColumnRole =
  | { kind: 'title' | 'description' | 'receiver' | 'sender' | 'id' | 'contract_address' | 'blockchain' }
  | { kind: 'file' | 'attr' | 'extra'; key: string; trait?: ColumnTrait | undefined }
  | { kind: typeof IGNORED_MEANING }

/** The type of the trait in a column such as `attr(number,max=100):Power`. */
export interface ColumnTrait {
  type: TraitType
  max: string | undefined
}

export interface Column {
  /** Name of the column as spelled in the manifest. */
  name: string
  /** 1-based position in a CSV row. Undefined for JSON, in which the order of keys has no meaning. */
  position: number | undefined
  role: ColumnRole
}

const PLAIN_COLUMN_NAMES = [
  'title',
  'description',
  'receiver',
  'sender',
  'id',
  'contract_address',
  'blockchain',
] as const
/** The names of all columns. A name that ends with a colon is followed by a custom key. */
export const COLUMN_NAMES = [...PLAIN_COLUMN_NAMES, 'image', 'file:', 'attr:', 'extra:'] as const
/** The meaning of an ignored column. Only a mapping can assign this meaning, never a column name. */
export const IGNORED_MEANING = 'ignore'
const PREFIXED_NAME = /^(file|attr|extra):(.*)$/s

// Invisible characters in a header: white space except the plain space, format characters and control characters.
export const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]|(?! )\p{Z}/u

/** Maximum length of a row ID, in characters. */
export const MAX_ID = 200
/** Matches an ID that a spreadsheet converted to scientific notation. */
export const SHORTENED_ID = /^\d[.,]\d+E\+\d+$/

/** Keys that describe a row. In a metadata object, these keys would be published as metadata. */
export const ROW_KEYS = [
  'receiver',
  'sender',
  'id',
  'contract_address',
  'blockchain',
  'receiver_wallet_address',
  'sender_wallet_address',
]

/** Placeholder for a URL when only the rest of a metadata object is checked. */
export const SAMPLE_URL = 'https://example.com/'

export type ParsedName = { role: ColumnRole } | { problem: string; hint?: string; isUnknown?: true }

/** The ways to treat unknown columns. */
export const UNKNOWN_COLUMNS = ['error', 'attr', 'extra', IGNORED_MEANING] as const
export type UnknownColumns = (typeof UNKNOWN_COLUMNS)[number]

/** Options for reading column names. */
export interface ColumnNaming {
  /** How to treat unknown columns. By default, they are errors. */
  unknownColumns?: UnknownColumns | undefined
  /** Assigns meanings to columns, such as `['Background', 'attr:Background']`. */
  columnMap?: readonly ColumnMapping[] | undefined
  /** Assigns meanings to columns that may be missing from a manifest. `columnMap` takes precedence. */
  defaultMap?: readonly ColumnMapping[] | undefined
}

export type ColumnMapping = readonly [name: string, meaning: string]

/** Common names of each column, in lower case with underscores. */
const COMMON_NAMES: Readonly<Record<(typeof COLUMN_NAMES)[number], readonly string[]>> = {
  title: ['name', 'nft_name', 'nft_title', 'token_name'],
  description: ['desc', 'nft_description'],
  receiver: [
    ...['to', 'to_address', 'owner', 'owner_address', 'wallet', 'wallet_address', 'address', 'recipient'],
    ...['recipient_address', 'receiver_address', 'receiver_wallet', 'receiver_wallet_address'],
  ],
  sender: ['from', 'from_address', 'sender_address', 'sender_wallet', 'sender_wallet_address'],
  id: ['row_id'],
  contract_address: ['contract', 'collection_address'],
  blockchain: ['chain', 'network'],
  image: [
    ...['picture', 'photo', 'file', 'image_url', 'image_file', 'image_path', 'image_uri', 'picture_url', 'photo_url'],
    ...['file_name', 'filename', 'file_path'],
  ],
  'file:': [],
  'attr:': [],
  'extra:': [],
}

/**
 * Metadata keys that OpenSea reads. A column for such a key needs the prefix `extra:`, so that nobody publishes the
 * column by accident.
 */
const MARKETPLACE_KEYS = ['background_color', 'external_url', 'youtube_url']

const MEANING_BY_NAME = new Map(
  Object.entries(COMMON_NAMES).flatMap(([meaning, names]) => [
    [meaning, meaning] as const,
    ...names.map((name) => [name, meaning] as const),
  ]),
)

/** Common names that are long enough for their misspellings to be recognized. */
const LONG_COMMON_NAMES = [...MEANING_BY_NAME.keys()].filter((name) => name.length > 3)

/** Returns all names of a column, in lower case with underscores. */
export const namesOf = (column: (typeof COLUMN_NAMES)[number]): readonly string[] => [column, ...COMMON_NAMES[column]]

/** Normalizes a name. Names that differ only in case, spaces, hyphens or accent encoding get the same form. */
const foldName = (name: string): string =>
  name.slice(0, MAX_FOLDED).normalize('NFC').trim().toLowerCase().replaceAll(/[ -]+/g, '_')

/** Maximum number of characters of a name to compare. All common names are shorter. */
const MAX_FOLDED = 64

/** Returns the documented name of a column for a name in the manifest. Returns an unknown name unchanged. */
function meaningOf(name: string, mapped: ColumnMapping | undefined): string {
  if (mapped !== undefined) return mapped[1]
  const prefixed = /^(file|attr|extra):(.*)$/is.exec(name)
  if (prefixed !== null) return `${prefixed[1]?.toLowerCase()}:${prefixed[2]}`
  return MEANING_BY_NAME.get(foldName(name)) ?? name
}

const mappingOf = (name: string, map: readonly ColumnMapping[]): ColumnMapping | undefined =>
  map.find(([from]) => from === name) ?? map.find(([from]) => foldName(from) === foldName(name))

/** Returns the reason why a meaning can't be assigned to a column, or null if it can. */
export function meaningProblem(meaning: string): string | null {
  if (meaning === IGNORED_MEANING) return null
  const parsed = parseColumnName(meaning, {})
  if ('problem' in parsed) return parsed.problem
  return formatColumnName(parsed.role) === meaning || meaning === 'file:image'
    ? null
    : `"${meaning}" is not a column; did you mean "${formatColumnName(parsed.role)}"?`
}

/** Returns the name of a column as spelled in the documentation. */
export function formatColumnName(role: ColumnRole): string {
  if (!('key' in role)) return role.kind
  if (role.trait !== undefined) {
    const { type, max } = role.trait
    return `attr(${type}${max === undefined ? '' : `,max=${max}`}):${role.key}`
  }
  return role.kind === 'file' && role.key === 'image' ? 'image' : `${role.kind}:${role.key}`
}

export function parseColumnName(typed: string, naming: ColumnNaming): ParsedName {
  if (typed === '') return { problem: 'a column has no name', hint: 'Add a name to the header, or remove the column.' }
  const invisible = INVISIBLE.exec(typed)
  if (invisible !== null) {
    const code = (invisible[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    return {
      problem: `the column name "${typed.replace(INVISIBLE, `<U+${code}>`)}" has an invisible character, U+${code}`,
      hint: 'Type the name again.',
    }
  }
  const { unknownColumns = 'error', columnMap = [], defaultMap = [] } = naming
  const mapped = mappingOf(typed, columnMap) ?? mappingOf(typed, defaultMap)
  if (mapped?.[1] === IGNORED_MEANING) return { role: { kind: IGNORED_MEANING } }
  const name = meaningOf(typed, mapped)
  if (/^attr *\(/i.test(name)) return parseTypedName(name)
  const plain = PLAIN_COLUMN_NAMES.find((plainName) => plainName === name)
  if (plain !== undefined) return { role: { kind: plain } }
  if (name === 'image') return { role: { kind: 'file', key: 'image' } }
  const prefixed = PREFIXED_NAME.exec(name)
  const kind = prefixed?.[1] as 'file' | 'attr' | 'extra' | undefined
  if (kind === undefined && unknownColumns === 'error') {
    const meaning = correctedPrefix(name)
    if (meaning !== null) {
      const hint = `Did you mean "${meaning}"? Rename the column, or add ${mapFlag(name, meaning)}.`
      return { problem: `unknown column "${name}"`, hint }
    }
    if (MARKETPLACE_KEYS.includes(foldName(name))) {
      const meaning = `extra:${foldName(name)}`
      const hint = `Marketplaces read this value from an extra key: rename the column to ${meaning}, or add ${mapFlag(name, meaning)}. ${formatIgnoreHint(name)}`
      return { problem: `unknown column "${name}"`, hint }
    }
    if (foldName(name) === 'attributes') {
      const hint = `Use a separate column for each trait, such as attr:Class or attr(number):Power. ${formatIgnoreHint(name)} To read metadata files, use \`gdn art import\`.`
      return { problem: `unknown column "${name}"`, hint }
    }
    if (/^0x[0-9a-f]{40}$/i.test(name)) {
      const hint =
        'The file seems to be a list of receivers. To mint an NFT to each of them, run `gdn batch mint <manifest> --to <list>` with a manifest of one NFT.'
      return { problem: `unknown column "${name}"`, hint }
    }
    const close = nearest(foldName(name), COLUMN_NAMES) ?? nearest(foldName(name), LONG_COMMON_NAMES)
    return {
      isUnknown: true,
      problem: `unknown column "${name}"`,
      hint: `${close === undefined ? '' : `Did you mean "${close}"? `}${formatIgnoreHint(name)} To make the column a public attribute, add ${mapFlag(name, `attr:${name}`)}, or --unknown-columns attr for all unknown columns.`,
    }
  }
  if (kind === undefined && unknownColumns === IGNORED_MEANING) return { role: { kind: IGNORED_MEANING } }
  // Marketplaces would treat tags that differ only in surrounding spaces as two traits, which look the same to users.
  const key = (prefixed?.[2] ?? name).trim()
  if (key === '') return { problem: `the column "${name}" needs a name after the colon` }
  const role = { kind: kind ?? (unknownColumns === 'attr' ? 'attr' : 'extra'), key }
  return parsedKey(name, role)
}

/** Returns the role of a column with a key, or the problem of an invalid key. */
function parsedKey(
  name: string,
  role: { kind: 'file' | 'attr' | 'extra'; key: string; trait?: ColumnTrait },
): ParsedName {
  const misplaced = role.kind === 'attr' ? tagProblem(role.key) : null
  if (misplaced !== null) return { problem: `the tag of the column "${name}" ${misplaced}`, hint: TYPED_EXAMPLE }
  const problem = keyProblem(role)
  return problem === null ? { role } : { problem: `the key of the column "${name}" ${problem}` }
}

const TYPED_EXAMPLE = 'Use a name such as attr(number):Power or attr(number,max=100):Power.'

/** Parses the name of a column with a typed trait. Ignores case, and spaces inside the parentheses. */
function parseTypedName(name: string): ParsedName {
  const [, inside, typedKey] = /^attr *\(([^)]*)\) *:(.*)$/is.exec(name) ?? []
  const key = typedKey?.trim()
  if (inside === undefined || key === undefined) {
    const isOpen = !name.includes(')')
    const hint = `${isOpen ? 'If a comma separates the columns, enclose the whole name in quotes. ' : ''}${TYPED_EXAMPLE}`
    return { problem: `the column "${name}" has no "${isOpen ? ')' : ':'}" after the type`, hint }
  }
  if (key === '') return { problem: `the column "${name}" needs a name after the colon` }
  const [type = '', ...settings] = inside.split(',').map((part) => part.trim().toLowerCase())
  if (!isTraitType(type)) {
    const near = nearest(type, TRAIT_TYPES)
    const suggestion = near === undefined ? '' : `Did you mean "${near}"? `
    const hint = `${suggestion}The types are ${TRAIT_TYPES.join(', ')}. Without a type, write attr:${key}.`
    return { problem: `the column "${name}" has the unknown type ${quoted(type)}`, hint }
  }
  let max: string | undefined
  for (const setting of settings) {
    const [, maximum] = /^max *= *(.*)$/.exec(setting) ?? []
    if (maximum === undefined || max !== undefined) {
      const problem = max === undefined ? `has the unknown setting ${quoted(setting)}` : 'has two maxima'
      return { problem: `the column "${name}" ${problem}`, hint: TYPED_EXAMPLE }
    }
    const parsed = parseMaximum(type, maximum)
    if ('problem' in parsed) return { problem: `max in the column "${name}" ${parsed.problem}` }
    max = parsed.text
  }
  return parsedKey(name, { kind: 'attr', key, trait: { type, max } })
}

/**
 * Returns a column name with a misspelled prefix corrected, such as `attr:hour` for `atr:hour`, or null for any other
 * name.
 */
function correctedPrefix(name: string): string | null {
  const [, before = '', key = ''] = /^([^:\s]+):(.+)$/.exec(name) ?? []
  if (key === '') return null
  const prefix = /^(attribute|trait)s?$/i.test(before) ? 'attr' : nearest(before, ['attr', 'file', 'extra'])
  if (prefix === undefined) return null
  return meaningProblem(`${prefix}:${key}`) === null ? `${prefix}:${key}` : null
}

/** Returns the flag that sets the meaning of a column. */
export const mapFlag = (name: string, meaning: string): string => `--map ${shellWord(`${name}=${meaning}`)}`

export const formatIgnoreHint = (name: string): string => `To ignore the column, add ${mapFlag(name, IGNORED_MEANING)}.`

/**
 * Returns the reason why the API contract rejects the key of a file, attribute or extra column, or null if it is valid.
 */
function keyProblem({ kind, key }: { kind: 'file' | 'attr' | 'extra'; key: string }): string | null {
  if (kind === 'extra' && METADATA_KEYS.has(key)) return "is part of every NFT, so it can't be an extra key"
  const checked = validate(nftMetadataSchema, {
    title: 'x',
    description: 'x',
    file_fields: kind === 'file' ? [{ key, url: SAMPLE_URL }] : [],
    ...(kind === 'attr' ? { attribute: [{ tag: key, value: 'x' }] } : {}),
    ...(kind === 'extra' ? { [key]: 'x' } : {}),
  })
  return checked.ok ? null : (checked.issues[0]?.message ?? null)
}

interface ColumnSetOptions extends Pick<ColumnNaming, 'columnMap'> {
  hasReceiver: boolean
  /** All names in the header, including those of unknown columns. */
  names?: readonly string[]
}

/** Returns the problems of the columns as a whole: repeated meanings, too many files, and missing required columns. */
export function columnSetProblems(
  columns: readonly Column[],
  { hasReceiver, columnMap = [], names = [] }: ColumnSetOptions,
): { column: Column | null; problem: string; hint?: string }[] {
  const problems: { column: Column | null; problem: string; hint?: string }[] = []
  const byMeaning = new Map<string, Column>()
  for (const column of columns) {
    const { role } = column
    if (role.kind === IGNORED_MEANING) continue
    // A file field and an extra key with the same name would be the same metadata key.
    const meaning = 'key' in role ? `${role.kind === 'attr' ? 'attr' : 'key'}:${role.key}` : role.kind
    const first = byMeaning.get(meaning)
    if (first === undefined) byMeaning.set(meaning, column)
    else if (first.name === column.name) {
      problems.push({ column, problem: `the column "${column.name}" is repeated`, hint: 'Remove one of the columns.' })
    } else {
      if (role.kind === 'attr' && [first.role, role].some((attrRole) => 'trait' in attrRole)) {
        const problem = `the columns "${first.name}" and "${column.name}" define the same attribute`
        problems.push({ column, problem, hint: 'Remove one of the columns. An attribute has one type.' })
        continue
      }
      const isSame = formatColumnName(first.role) === formatColumnName(role)
      const problem = `the columns "${first.name}" and "${column.name}" ${isSame ? `both mean ${formatColumnName(role)}` : 'define the same metadata key'}`
      const other = first.name === formatColumnName(role) ? column.name : first.name
      problems.push({ column, problem, hint: `Remove one of the columns, or add ${mapFlag(other, `attr:${other}`)}.` })
    }
  }
  for (const [name] of columnMap) {
    if (columns.some((column) => column.name === name || foldName(column.name) === foldName(name))) continue
    const near = nearest(name, names)
    const hint = near === undefined ? 'Use a column name from the header.' : `Did you mean "${near}"?`
    problems.push({ column: null, problem: `the column "${name}" in --map is not in the header`, hint })
  }
  const files = columns.filter(({ role }) => role.kind === 'file')
  const tooMany = files[MAX_FILE_FIELDS]
  if (tooMany !== undefined) {
    problems.push({
      column: tooMany,
      problem: `has ${files.length} file columns, but an NFT has at most ${MAX_FILE_FIELDS}`,
    })
  }
  for (const needed of ['title', 'description'] as const) {
    if (byMeaning.has(needed)) continue
    const hint = `Add the column, or use --map <column>=${needed} to read another column as ${needed}.`
    problems.push({ column: null, problem: `the column "${needed}" is missing`, hint })
  }
  if (!byMeaning.has('receiver') && !hasReceiver) {
    problems.push({
      column: null,
      problem: 'the column "receiver" is missing',
      hint: 'Add the column, or use --receiver <address>.',
    })
  }
  return problems
}
