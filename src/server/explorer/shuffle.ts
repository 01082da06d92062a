import { createHash } from 'node:crypto'
import { type Blockchain, isBlockchain } from '../../api/blockchains.ts'
import { computeSeal } from '../../api/provenance-seal.ts'
import { computeRoundTime, findRound, parseRule, QUICKNET_TIMES } from '../../api/shuffle-rule.ts'
import { GdnError } from '../../core/errors.ts'
import { ipfsPathParts } from '../../core/ipfs-url.ts'
import { isRecord } from '../../core/json.ts'
import { isoTime } from '../../core/time.ts'
import { readBlockTimes } from '../services/nft-history.ts'
import { findChain } from '../store/chains.ts'
import { listDeployedCommitments } from '../store/explorer-commitments.ts'
import { findTransactions } from '../store/explorer-transactions.ts'
import { type ExplorerDeps, parseMetadata, toFileFields } from './explorer.ts'
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
export async function readShuffle(
  explorer: ExplorerDeps,
  { collection_id, metadata, files, revision }: MintedNft,
  { blockchain, shown }: { blockchain: string; shown: unknown },
): Promise<ExplorerShuffle | null> {
  const minted = parseMetadata(metadata)
  const { provenance_row: text } = isRecord(minted.original) ? minted.original : {}
  const slot = typeof text === 'string' && /^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : null
  const leaves = toFileFields(minted, files).find(({ field }) => field === 'provenance')
  if (slot === null || leaves == null || leaves.place === null || !isBlockchain(blockchain)) return null
  const { place } = leaves
  const drop = await explorer.slow.getSoon(`leaves file ${place}`, '', () => readLeaves(explorer, place))
  if (drop == null || drop.marginSeconds === null || slot > drop.rows) return null
  const { commitment, seal } = await readCommitments(explorer, { collection_id, blockchain }, drop.hash)
  const sealTime = seal?.time == null ? null : Date.parse(seal.time) / 1000
  const round = sealTime === null ? null : findRound(QUICKNET_TIMES, sealTime + drop.marginSeconds)
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
            time: isoTime(computeRoundTime(QUICKNET_TIMES, round) * 1000),
            url: `https://api.drand.sh/${QUICKNET_TIMES.hash}/public/${round}`,
          },
    beacon: await explorer.slow.getSoon(`beacon of ${round} ${findSignature(shown)}`, '', () =>
      identifyBeacon(shown, round),
    ),
    is_simulated: (await findChain(explorer.db, blockchain))?.network === 'embedded',
  }
}

function findSignature(metadata: unknown): string | null {
  const { provenance_signature: signature } = isRecord(metadata) ? metadata : {}
  return typeof signature === 'string' && /^[0-9a-f]{96}$/.test(signature) ? signature : null
}

/** Returns the source of the drand signature in an NFT's metadata. Returns null if the metadata contains none. */
export async function identifyBeacon(metadata: unknown, round: number | null): Promise<ExplorerShuffle['beacon']> {
  const signature = findSignature(metadata)
  if (round === null || signature === null) return null
  const { isValidSignature, QUICKNET } = await import('../../api/beacon.ts')
  return isValidSignature(QUICKNET, round, Buffer.from(signature, 'hex')) ? 'drand-quicknet' : 'other'
}

interface Leaves {
  hash: string
  rows: number
  /** The margin of the shuffle rule in seconds; null if the rows aren't shuffled. */
  marginSeconds: number | null
}

/** Maximum size of the shuffle rule in bytes. */
const RULE_BYTES = 64

async function readLeaves({ storage }: ExplorerDeps, place: string): Promise<Leaves | null> {
  const { cid, path } = ipfsPathParts(place)
  const content = await storage.open(cid, path, { ownOnly: true })
  if (content?.type !== 'file') return null
  const hash = createHash('sha256')
  let start = Buffer.alloc(0)
  let lines = 0
  for await (const part of content.stream()) {
    hash.update(part)
    if (start.length < RULE_BYTES) start = Buffer.concat([start, part.subarray(0, RULE_BYTES)])
    for (const byte of part) if (byte === 0x0a) lines++
  }
  const marginSeconds = parseMargin(start)
  return { hash: `0x${hash.digest('hex')}`, rows: marginSeconds === null ? lines : lines - 1, marginSeconds }
}

function parseMargin(start: Uint8Array): number | null {
  try {
    return parseRule(start)?.marginSeconds ?? null
  } catch (error) {
    // The file has a shuffle rule of a newer version of gdn.
    if (error instanceof GdnError) return null
    throw error
  }
}

async function readCommitments(
  { db, chains, linkOf }: ExplorerDeps,
  { collection_id, blockchain }: { collection_id: string; blockchain: Blockchain },
  hash: string,
): Promise<{ commitment: ExplorerCommitment | null; seal: ExplorerCommitment | null }> {
  const commitments = await listDeployedCommitments(db, collection_id, [hash, computeSeal(hash)])
  const ids = commitments.flatMap(({ transaction_id: id }) => id ?? [])
  const transactions = new Map(
    (await findTransactions(db, { by: 'id', ids })).map((transaction) => [transaction.id, transaction]),
  )
  const times = await readBlockTimes({ db, chains }, blockchain, [...transactions.values()])
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
  return { commitment: explorerCommitment(hash), seal: explorerCommitment(computeSeal(hash)) }
}
