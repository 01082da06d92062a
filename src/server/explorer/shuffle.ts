import { createHash } from 'node:crypto'
import { type Blockchain, isBlockchain } from '../../api/blockchains.ts'
import { sealOf } from '../../api/provenance-seal.ts'
import { QUICKNET_TIMES, roundFor, ruleIn, timeOfRound } from '../../api/shuffle-rule.ts'
import { GdnError } from '../../core/errors.ts'
import { ipfsPathParts } from '../../core/ipfs-url.ts'
import { isRecord } from '../../core/json.ts'
import { isoTime } from '../../core/time.ts'
import { blockTimes } from '../services/nft-history.ts'
import { findChain } from '../store/chains.ts'
import { seenCommitments } from '../store/explorer-commitments.ts'
import { findTransactions } from '../store/explorer-transactions.ts'
import { type ExplorerDeps, fileFields, readMetadata } from './explorer.ts'
import type { ExplorerCommitment, ExplorerShuffle } from './types.ts'

interface MintedNft {
  collection_id: string
  /** The metadata of the mint request, as JSON. `files` has the IPFS paths of its stored files. */
  metadata: string
  files: string | null
  revision: number
}

/**
 * Returns the data that determines an NFT's row in a shuffled drop. Returns null if the NFT isn't part of one. Files in
 * this server's storage are trusted.
 *
 * @param shown the current metadata
 */
export async function shuffleOf(
  explorer: ExplorerDeps,
  { collection_id, metadata, files, revision }: MintedNft,
  { blockchain, shown }: { blockchain: string; shown: unknown },
): Promise<ExplorerShuffle | null> {
  const minted = readMetadata(metadata)
  const { provenance_row: text } = isRecord(minted.whole) ? minted.whole : {}
  const slot = typeof text === 'string' && /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : null
  const leaves = fileFields(minted, files).find(({ field }) => field === 'provenance')
  if (slot === null || leaves == null || leaves.place === null || !isBlockchain(blockchain)) return null
  const { place } = leaves
  const drop = await explorer.slow.soon(`leaves file ${place}`, '', () => readLeaves(explorer, place))
  if (drop == null || drop.margin === null || slot > drop.rows) return null
  const { commitment, seal } = await commitmentsOf(explorer, { collection_id, blockchain }, drop.hash)
  const sealTime = seal?.time == null ? null : Date.parse(seal.time) / 1000
  const round = sealTime === null ? null : roundFor(QUICKNET_TIMES, sealTime + drop.margin)
  const { cid, path } = ipfsPathParts(place)
  return {
    slot,
    rows: drop.rows,
    is_revealed: revision > 0,
    leaves_path: `/ipfs/${[cid, ...path].map(encodeURIComponent).join('/')}`,
    commitment,
    seal,
    round:
      round === null
        ? null
        : {
            number: round,
            time: isoTime(timeOfRound(QUICKNET_TIMES, round) * 1000),
            url: `https://api.drand.sh/${QUICKNET_TIMES.hash}/public/${round}`,
          },
    beacon: await explorer.slow.soon(`beacon of ${round} ${signatureIn(shown)}`, '', () => beaconOf(shown, round)),
    is_simulated: (await findChain(explorer.db, blockchain))?.network === 'embedded',
  }
}

function signatureIn(metadata: unknown): string | null {
  const { provenance_signature: signature } = isRecord(metadata) ? metadata : {}
  return typeof signature === 'string' && /^[0-9a-f]{96}$/.test(signature) ? signature : null
}

/** Returns the source of the drand signature in an NFT's metadata. Returns null if the metadata contains none. */
export async function beaconOf(metadata: unknown, round: number | null): Promise<ExplorerShuffle['beacon']> {
  const signature = signatureIn(metadata)
  if (round === null || signature === null) return null
  const { isSigned, QUICKNET } = await import('../../api/beacon.ts')
  return isSigned(QUICKNET, round, Buffer.from(signature, 'hex')) ? 'drand-quicknet' : 'other'
}

interface Leaves {
  hash: string
  rows: number
  /** The margin of the shuffle rule in seconds; null if the rows aren't shuffled. */
  margin: number | null
}

/** Maximum size of the shuffle rule in bytes. */
const RULE_BYTES = 64

async function readLeaves({ storage }: ExplorerDeps, place: string): Promise<Leaves | null> {
  const { cid, path } = ipfsPathParts(place)
  const content = await storage.open(cid, path, { ours: true })
  if (content?.type !== 'file') return null
  const hash = createHash('sha256')
  let start = Buffer.alloc(0)
  let lines = 0
  for await (const part of content.stream()) {
    hash.update(part)
    if (start.length < RULE_BYTES) start = Buffer.concat([start, part.subarray(0, RULE_BYTES)])
    for (const byte of part) if (byte === 0x0a) lines++
  }
  const margin = marginIn(start)
  return { hash: `0x${hash.digest('hex')}`, rows: margin === null ? lines : lines - 1, margin }
}

function marginIn(start: Uint8Array): number | null {
  try {
    return ruleIn(start)?.marginSeconds ?? null
  } catch (error) {
    // The file has a shuffle rule of a newer version of gdn.
    if (error instanceof GdnError) return null
    throw error
  }
}

async function commitmentsOf(
  { db, chains, linkOf }: ExplorerDeps,
  { collection_id, blockchain }: { collection_id: string; blockchain: Blockchain },
  hash: string,
): Promise<{ commitment: ExplorerCommitment | null; seal: ExplorerCommitment | null }> {
  const commitments = await seenCommitments(db, collection_id, [hash, sealOf(hash)])
  const ids = commitments.flatMap(({ transaction_id: id }) => id ?? [])
  const transactions = new Map(
    (await findTransactions(db, { by: 'id', ids })).map((transaction) => [transaction.id, transaction]),
  )
  const times = await blockTimes({ db, chains }, blockchain, [...transactions.values()])
  const explorerCommitment = (hashToFind: string): ExplorerCommitment | null => {
    const row = commitments.find((commitment) => commitment.hash === hashToFind)
    if (row === undefined) return null
    const transaction = transactions.get(row.transaction_id ?? '')
    const block_number = transaction?.block_number ?? null
    const time = times.get(block_number ?? -1)
    return {
      hash: hashToFind,
      transaction_hash: transaction?.hash ?? null,
      explorer_url: transaction === undefined ? null : linkOf(blockchain, transaction.hash),
      block_number,
      time: isoTime(time),
    }
  }
  return { commitment: explorerCommitment(hash), seal: explorerCommitment(sealOf(hash)) }
}
