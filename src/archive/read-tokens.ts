import { isRecord, parseJson } from '../core/json.ts'
import { parseNumberKey } from '../holders/number-key.ts'
import { substituteId } from '../verify/contract/token-uri.ts'
import { type ArchiveStore, COLLECTION_KEY, type ListedToken, type TokenFile } from './archive-store.ts'
import { type ArchiveProblem, toTokenId } from './index-lines.ts'
import { readStoredFile } from './ipfs-dag.ts'
import { type ArchiveLimits, MAX_FILES_PER_TOKEN, MAX_METADATA_BYTES } from './limits.ts'
import { findFiles, type NamedUrl } from './metadata-files.ts'
import { directoryKey, type SourceReader } from './read-source.ts'
import { keepPrevious } from './seed-store.ts'
import { parseReadableUrl, shortenUrl } from './token-uri.ts'

export interface ReadTokensOptions {
  store: ArchiveStore
  reader: SourceReader
  limits: ArchiveLimits
  standard: 'erc721' | 'erc1155'
  /** Base URL of an Arweave gateway, without a trailing slash. */
  arweave: string
  /** Whether all files of a directory are read, including files to which no token refers. */
  wholeDirectory: boolean
  /** Whether the files stay in the store. Metadata always stays. */
  keepsFiles: boolean
  signal: AbortSignal
  onToken(): void
  /** Called for each file that is kept from the existing archive, because it can't be read now. */
  onKept?: ((file: ArchiveProblem) => void) | undefined
}

/** Number of tokens that are read concurrently. */
const MAX_CONCURRENT_TOKENS = 8

/** Reads the metadata and files of all tokens that have not been read yet, and adds them to the store. */
export async function readTokens(options: ReadTokensOptions): Promise<void> {
  const { store, signal, onToken } = options
  const open = store.tokens('open')
  let failed = false
  const work = async () => {
    for (const token of open) {
      if (failed) return
      signal.throwIfAborted()
      try {
        store.finishToken(token.token, await readTokenFiles(token, options))
      } catch (error) {
        failed = true
        throw error
      }
      // The contract's metadata is read like a token's metadata, but isn't counted.
      if (token.token !== COLLECTION_KEY) onToken()
    }
  }
  // All workers must end before the store is closed.
  const ended = await Promise.allSettled(Array.from({ length: MAX_CONCURRENT_TOKENS }, work))
  for (const end of ended) if (end.status === 'rejected') throw end.reason
}

async function readTokenFiles({ token, uri, minted }: ListedToken, options: ReadTokensOptions): Promise<TokenFile[]> {
  const files = uri === null ? [] : await readFilesAt(token, uri, { prefix: '', from: 0 }, options)
  if (!minted) return files
  return [...files, ...(await readFilesAt(token, minted, { prefix: 'minted ', from: files.length }, options))]
}

/**
 * Reads metadata and the files to which it refers. `prefix` is prepended to the field names, and `from` is the number
 * of the first file.
 */
async function readFilesAt(
  token: string,
  uri: string,
  { prefix, from }: { prefix: string; from: number },
  options: ReadTokensOptions,
): Promise<TokenFile[]> {
  const { store, standard } = options
  const metadata = await readFile({ field: `${prefix}metadata`, url: uri }, from, {
    ...options,
    token,
    isMetadata: true,
  })
  const files = [...metadata]
  const [{ source } = { source: null }] = metadata
  const content = source === null ? null : store.source(source)
  if (content === null || 'problem' in content) return files
  const value = parseJson(Buffer.concat(await collectChunks(readStoredFile(store, content.cid))))
  if (!isRecord(value)) {
    const problem = value === undefined ? 'the metadata is not JSON' : 'the metadata is not a JSON object'
    return files.map((file) => (file.number === from ? { ...file, problem } : file))
  }
  const { files: fileFields, isCut } = findFiles(value)
  for (const { field, url } of fileFields) {
    const whole = standard === 'erc1155' && token !== COLLECTION_KEY ? substituteId(url, parseNumberKey(token)) : url
    const next = { field: `${prefix}${field}`, url: whole }
    files.push(...(await readFile(next, from + files.length, { ...options, token, isMetadata: false })))
  }
  if (isCut) {
    const problem = `the metadata refers to more than ${MAX_FILES_PER_TOKEN} files, or has too many values: the remaining files were not read`
    files.push({ number: from + files.length, field: `${prefix}metadata`, url: shortenUrl(uri), source: null, problem })
  }
  return files
}

type ReadFileOptions = ReadTokensOptions & { token: string; isMetadata: boolean }

/** Reads a file. If whole directories are requested, also reads the root directory of the file's ipfs URL. */
async function readFile(
  { field, url }: NamedUrl,
  number: number,
  { store, reader, limits, arweave, wholeDirectory, keepsFiles, signal, onKept, token, isMetadata }: ReadFileOptions,
): Promise<TokenFile[]> {
  const readable = parseReadableUrl(url, arweave)
  const urlText = shortenUrl(url)
  if ('problem' in readable) return [{ number, field, url: urlText, source: null, problem: readable.problem }]
  const maxBytes = isMetadata ? Math.min(MAX_METADATA_BYTES, limits.maxFileBytes) : limits.maxFileBytes
  const allowHtml = !isMetadata && !/image/i.test(field)
  const content = await reader.read(readable, { maxBytes, allowHtml, keepsContent: isMetadata || keepsFiles })
  if ('problem' in content && onKept !== undefined && readable.kind === 'web') {
    const isKept = await keepPrevious(store, readable.key, { maxBytes, signal })
    if (isKept) onKept({ token_id: toTokenId(token), field, url: urlText, error: content.problem })
  }
  const file = { number, field, url: urlText, source: readable.key, problem: null }
  if (!wholeDirectory || readable.kind !== 'ipfs' || readable.path.length === 0) return [file]
  await reader.readDirectory(readable)
  const source = directoryKey(readable.cid)
  return [file, { number: number + 1, field: 'directory', url: `ipfs://${readable.cid}`, source, problem: null }]
}

async function collectChunks(content: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const parts: Uint8Array[] = []
  for await (const part of content) parts.push(part)
  return parts
}
