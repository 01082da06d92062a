import { parseNumberKey } from '../holders/number-key.ts'
import { type ArchivedCollection, type ArchiveStore, COLLECTION_KEY, type DescribedFile } from './archive-store.ts'
import { shortenUrl } from './token-uri.ts'

/**
 * The format name of the index. The index is in JSON Lines: a header, the metadata of the collection, and each token.
 */
export const INDEX_FORMAT = 'gdn collection archive'
export const INDEX_VERSION = 2

export interface IndexHeader {
  format: typeof INDEX_FORMAT
  version: typeof INDEX_VERSION
  contract: string
  blockchain: string
  chain_id: number
  standard: string
  block: { number: number; hash: string; time: string }
  tokens: number
  files: number
  unreadable: number
  whole_directory: boolean
}

/** A file in the index. `verification` states whether a CID in the token's URLs proves the content. */
export interface IndexFile {
  field: string
  url: string
  cid?: string | undefined
  size?: number | undefined
  sha256?: string | undefined
  verification?: 'cid' | 'not verifiable' | undefined
  error?: string | undefined
}

export interface IndexToken {
  /** The token ID; null for the metadata of the collection itself (ERC-7572). */
  token_id: string | null
  uri: string | null
  /**
   * The metadata, followed by the files to which it refers. For an updated token of a gdn collection, the original
   * metadata and its files follow.
   */
  files: IndexFile[]
  error?: string | undefined
}

/** A token or file that could not be read, with the reason. */
export interface ArchiveProblem {
  /** The token ID; null for the metadata of the collection itself. */
  token_id: string | null
  field: string | null
  url: string | null
  error: string
}

/** Yields the tokens and files that could not be read. */
export function* listProblems(tokens: Iterable<IndexToken>): Generator<ArchiveProblem> {
  for (const { token_id, uri, files, error } of tokens) {
    if (error !== undefined) yield { token_id, field: null, url: uri, error }
    for (const file of files)
      if (file.error !== undefined) yield { token_id, field: file.field, url: file.url, error: file.error }
  }
}

const STANDARDS = { erc721: 'ERC-721', erc1155: 'ERC-1155' }

export function indexHeader(store: ArchiveStore, archived: ArchivedCollection): IndexHeader {
  const { contract, blockchain, chainId, standard, block, wholeDirectory } = archived
  return {
    format: INDEX_FORMAT,
    version: INDEX_VERSION,
    contract,
    blockchain,
    chain_id: chainId,
    standard: STANDARDS[standard],
    block: { number: block.number, hash: block.hash, time: new Date(block.time).toISOString() },
    tokens: store.count('tokens'),
    files: store.count('files'),
    unreadable: store.count('problems'),
    whole_directory: wholeDirectory,
  }
}

/** Returns the token ID of a key, or null for the metadata of the collection. */
export const toTokenId = (token: string): string | null =>
  token === COLLECTION_KEY ? null : String(parseNumberKey(token))

/** Yields the metadata of the collection, if there is any, and then the tokens in the order of their IDs. */
export function* indexTokens(store: ArchiveStore): Generator<IndexToken> {
  for (const { token, uri, problem } of store.tokens()) {
    yield {
      token_id: toTokenId(token),
      uri: uri === null ? null : shortenUrl(uri),
      files: store.filesOf(token).map(toIndexFile),
      error: problem ?? undefined,
    }
  }
}

function toIndexFile({ field, url, cid, size, sha256, isVerifiable, problem }: DescribedFile): IndexFile {
  if (cid === null) return { field, url, error: problem ?? 'the file was not read' }
  return {
    field,
    url,
    cid,
    size: size ?? undefined,
    sha256: sha256 ?? undefined,
    verification: isVerifiable ? 'cid' : 'not verifiable',
    error: problem ?? undefined,
  }
}
