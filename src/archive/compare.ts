import { type ArchiveProblem, type IndexFile, type IndexToken, listProblems } from './index-lines.ts'

/** A finding of a check, such as a file that can't be read, that differs from an archive, or that the archive lacks. */
export interface ArchiveFinding extends ArchiveProblem {
  kind: 'unreadable' | 'differs' | 'missing' | 'new' | 'not_archived'
}

/**
 * Compares the current tokens with the tokens of an archive, both in the order of their IDs. Without an archive, yields
 * only problems of reading the current tokens.
 */
export async function* compareTokens(
  current: Iterable<IndexToken>,
  before: AsyncIterable<IndexToken> | null,
): AsyncGenerator<ArchiveFinding> {
  const archived = before?.[Symbol.asyncIterator]()
  const next = async () => (await archived?.next())?.value ?? null
  let old: IndexToken | null = await next()
  for (const token of current) {
    for (; old !== null && sortKey(old) < sortKey(token); old = await next()) yield missingTokenFinding(old)
    for (const problem of listProblems([token])) yield { kind: 'unreadable', ...problem }
    if (archived === undefined) continue
    if (old === null || old.token_id !== token.token_id) {
      const subject = token.token_id === null ? 'the metadata of the collection' : 'the token'
      yield tokenFinding(token, 'new', `${subject} is not in the archive`)
      continue
    }
    yield* findDifferences(old, token)
    old = await next()
  }
  for (; old !== null; old = await next()) yield missingTokenFinding(old)
}

const tokenFinding = ({ token_id, uri }: IndexToken, kind: ArchiveFinding['kind'], error: string): ArchiveFinding => ({
  kind,
  token_id,
  field: null,
  url: uri,
  error,
})

const missingTokenFinding = (token: IndexToken) => {
  const error =
    token.token_id === null
      ? 'the contract no longer has metadata, but the archive contains some'
      : 'the token is in the archive, but no longer has an owner'
  return tokenFinding(token, 'missing', error)
}

/** Returns the sort order of a token. The metadata of the collection comes before all tokens. */
const sortKey = ({ token_id }: IndexToken): bigint => (token_id === null ? -1n : BigInt(token_id))

/**
 * Yields the differences between the files of a token and the files in the archive, and the files that the archive
 * lacks. A file that can't be read now doesn't count as a difference.
 */
function* findDifferences(before: IndexToken, current: IndexToken): Generator<ArchiveFinding> {
  const { token_id } = current
  const fileFinding = (kind: ArchiveFinding['kind'], { field, url }: IndexFile, error: string) => ({
    ...{ kind, token_id, field, url },
    error,
  })
  const differs = (file: IndexFile, error: string) => fileFinding('differs', file, error)
  const notArchived = (file: IndexFile) => fileFinding('not_archived', file, 'the file is missing from the archive')
  const whose = token_id === null ? 'contract' : 'token'
  if (before.uri === null && current.uri !== null)
    yield tokenFinding(current, 'not_archived', `the ${whose} URI is missing from the archive`)
  else if (before.uri !== current.uri)
    yield tokenFinding(current, 'differs', `the ${whose} URI was ${before.uri ?? 'unreadable'}`)
  const old = new Map(before.files.map((file) => [file.field, file]))
  const isReadable = current.files[0]?.error === undefined && current.files[0]?.cid !== undefined
  // If the archive lacks the metadata, the files to which the metadata refers are unknown.
  const hadMetadata = before.files[0]?.cid !== undefined
  const isArchived = ({ url, cid }: IndexFile) =>
    before.files.some((file) => file.cid !== undefined && file.url === url && (cid === undefined || file.cid === cid))
  for (const file of current.files) {
    const archived = old.get(file.field)
    old.delete(file.field)
    // After an update, the original metadata is in the archive under the field `metadata`.
    if (archived === undefined && isArchived(file)) continue
    if (archived === undefined && hadMetadata) yield differs(file, 'the file is not in the archive')
    else if (file.cid === undefined) continue
    else if (archived === undefined) yield notArchived(file)
    else if (archived.url !== file.url) yield differs(file, `the URL was ${archived.url}`)
    else if (archived.cid !== undefined && archived.sha256 !== file.sha256) {
      yield differs(
        file,
        `the SHA-256 hash was ${archived.sha256 ?? 'unknown'}, and is now ${file.sha256 ?? 'unknown'}`,
      )
    } else if (archived.error !== undefined && file.error === undefined) yield notArchived(file)
  }
  if (isReadable) for (const file of old.values()) yield differs(file, 'the metadata no longer refers to this file')
}
