import { MAX_FILE_FIELDS, nftMetadata } from '../api/metadata.ts'
import { validate } from '../api/validate.ts'
import { nearest } from './nearest.ts'

/** What a column of a manifest means. */
export type ColumnRole =
  | { kind: 'title' | 'description' | 'receiver' | 'sender' | 'id' | 'contract_address' | 'blockchain' }
  | { kind: 'file' | 'attr' | 'extra'; key: string }

export interface Column {
  /** As the manifest spells it. */
  name: string
  /** 1-based place in its row, or undefined where rows have no order. */
  position: number | undefined
  role: ColumnRole
}

const PLAIN = ['title', 'description', 'receiver', 'sender', 'id', 'contract_address', 'blockchain'] as const
/** The columns there are; those that end with a colon take a key of your own. */
export const COLUMN_NAMES = [...PLAIN, 'image', 'file:', 'attr:', 'extra:'] as const
const PREFIXED = /^(file|attr|extra):(.*)$/s
const METADATA_KEYS = new Set(['title', 'description', 'file_fields', 'attribute'])

// White space that isn't the plain space, format characters and controls: nobody sees them in a header.
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]|(?! )\p{Z}/u

/** Stands for a URL wherever only the rest of a metadata object is checked. */
export const SAMPLE_URL = 'https://example.com/'

export type ParsedName = { role: ColumnRole } | { problem: string; hint?: string }

/** Reads the name of a column. `extraColumns` takes unknown ones as extra keys. */
export function parseColumnName(name: string, extraColumns: boolean): ParsedName {
  if (name === '') return { problem: 'a column without a name', hint: 'name it, or remove it' }
  const invisible = INVISIBLE.exec(name)
  if (invisible !== null) {
    const code = (invisible[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    return {
      problem: `the column name "${name.replace(INVISIBLE, `<U+${code}>`)}" holds an invisible character, U+${code}`,
      hint: 'type the name anew',
    }
  }
  const plain = PLAIN.find((known) => known === name)
  if (plain !== undefined) return { role: { kind: plain } }
  if (name === 'image') return { role: { kind: 'file', key: 'image' } }
  const prefixed = PREFIXED.exec(name)
  const kind = prefixed?.[1] as 'file' | 'attr' | 'extra' | undefined
  if (kind === undefined && !extraColumns) {
    const close = nearest(name, COLUMN_NAMES)
    return {
      problem: `unknown column "${name}"`,
      hint: `${close === null ? '' : `did you mean "${close}"? `}Metadata is public for ever: to make it an extra key, name it "extra:${name}" or give --extra-columns`,
    }
  }
  const key = prefixed?.[2] ?? name
  if (key === '') return { problem: `the column "${name}" needs a name after the colon` }
  const role: ColumnRole = { kind: kind ?? 'extra', key }
  const problem = keyProblem(role)
  return problem === null ? { role } : { problem: `the column "${name}": its key ${problem}` }
}

/** What the contract says against the key of a file, attribute or extra column. */
function keyProblem({ kind, key }: { kind: 'file' | 'attr' | 'extra'; key: string }): string | null {
  if (kind === 'extra' && METADATA_KEYS.has(key)) return "is part of every NFT; it can't be an extra key"
  const checked = validate(nftMetadata, {
    title: 'x',
    description: 'x',
    file_fields: kind === 'file' ? [{ key, url: SAMPLE_URL }] : [],
    ...(kind === 'attr' ? { attribute: [{ tag: key, value: 'x' }] } : {}),
    ...(kind === 'extra' ? { [key]: 'x' } : {}),
  })
  return checked.ok ? null : (checked.issues[0]?.message ?? null)
}

/** Faults of the columns as a set: the same meaning twice, too many files, what every NFT needs missing. */
export function columnSetProblems(
  columns: readonly Column[],
  { hasReceiver }: { hasReceiver: boolean },
): { column: Column | null; problem: string; hint?: string }[] {
  const problems: { column: Column | null; problem: string; hint?: string }[] = []
  const seen = new Map<string, Column>()
  for (const column of columns) {
    const { role } = column
    // A file field and an extra key of one name would be one key of the metadata.
    const meaning = 'key' in role ? `${role.kind === 'attr' ? 'attr' : 'key'}:${role.key}` : role.kind
    const first = seen.get(meaning)
    if (first === undefined) seen.set(meaning, column)
    else if (first.name === column.name) {
      problems.push({ column, problem: `the column "${column.name}" stands here twice`, hint: 'remove one of them' })
    } else {
      const problem = `the columns "${first.name}" and "${column.name}" are the same key`
      problems.push({ column, problem, hint: 'remove one of them' })
    }
  }
  const files = columns.filter(({ role }) => role.kind === 'file')
  const tooMany = files[MAX_FILE_FIELDS]
  if (tooMany !== undefined) {
    problems.push({ column: tooMany, problem: `${files.length} file columns; an NFT has at most ${MAX_FILE_FIELDS}` })
  }
  for (const needed of ['title', 'description'] as const) {
    if (!seen.has(needed)) problems.push({ column: null, problem: `the column "${needed}" is missing` })
  }
  if (!seen.has('receiver') && !hasReceiver) {
    problems.push({ column: null, problem: 'the column "receiver" is missing', hint: 'add it, or give --receiver' })
  }
  return problems
}
