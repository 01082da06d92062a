import { CID } from 'multiformats/cid'
import { create as createDigest } from 'multiformats/hashes/digest'
import { GdnError } from '../core/errors.ts'
import { digestSlot, isWord } from './abi.ts'
import type { CallResult, ChainReader } from './chain-reader.ts'

/** Maximum number of tokens that a gdn backend mints with one metadata directory. */
const MAX_BUNDLE_TOKENS = 200n
const [DAG_PB, SHA_256] = [0x70, 0x12]

/**
 * Returns the URLs of the metadata with which tokens of a gdn collection were minted. The contract stores the digest of
 * each metadata directory under the first token of its batch. Omits tokens without a digest.
 *
 * @param at.block the block to read. Default: the newest block
 * @param at.from the first token that may begin a batch. Tokens of earlier batches are omitted. Default: 1
 * @throws GdnError `bad_answer` if the node doesn't return the storage
 */
export async function readMintedUris(
  chain: Pick<ChainReader, 'storageAt'>,
  contract: string,
  ids: readonly bigint[],
  { block, from = 1n }: { block?: string; from?: bigint } = {},
): Promise<Map<bigint, string>> {
  const heads = new Set<bigint>()
  for (const id of ids) for (let head = id; head >= from && head > id - MAX_BUNDLE_TOKENS; head--) heads.add(head)
  const headList = [...heads]
  const words = await chain.storageAt(contract, headList.map(digestSlot), block)
  const digests = new Map(headList.map((head, at) => [head, parseDigest(words[at])]))
  const uris = new Map<bigint, string>()
  for (const id of ids) {
    for (let head = id; head >= from && head > id - MAX_BUNDLE_TOKENS; head--) {
      const digest = digests.get(head)
      if (digest == null) continue
      uris.set(id, `ipfs://${CID.createV1(DAG_PB, createDigest(SHA_256, digest))}/${id - head}.json`)
      break
    }
  }
  return uris
}

/** Returns the digest in a word, or null if the word is 0. */
function parseDigest(word: CallResult | undefined): Buffer | null {
  if (word?.kind === 'value' && isWord(word.data)) {
    return /^0x0+$/.test(word.data) ? null : Buffer.from(word.data.slice(2), 'hex')
  }
  throw new GdnError(
    'bad_answer',
    "the node does not return the contract's storage, which identifies the minted metadata",
    {
      hint: 'Use the URL of another node.',
    },
  )
}
