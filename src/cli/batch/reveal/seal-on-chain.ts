import type { Blockchain } from '../../../api/blockchains.ts'
import type { ProvenanceRecord } from '../../../api/endpoints/getprovenances.ts'
import { computeRoundTime, findRound, QUICKNET_TIMES, type ShuffleRule } from '../../../api/shuffle-rule.ts'
import { GdnError } from '../../../core/errors.ts'
import type { StoredSeal } from '../../../reveal/drop-state.ts'
import { UnreadableError } from '../../../reveal/proof-reads.ts'
import { readSeal, type SealCommitment } from '../../../reveal/read-seal.ts'
import { ifReadable } from '../../connect/if-readable.ts'
import { openVerifier, type ReaderFlags } from '../../connect/open-verifier.ts'
import type { Connection, Deps } from '../../deps.ts'

interface CollectionOnChain {
  blockchain: Blockchain
  contractAddress: string
  flags: ReaderFlags
}

/**
 * Reads the seal of a drop from the chain; null if the node doesn't have it yet.
 *
 * @param record the server's record of the seal
 * @throws GdnError `unreachable` if no node returns the seal; `bad_answer` if the seal isn't in the block that the
 * server reports
 */
export async function readSealOnChain(
  deps: Deps,
  { server }: Connection,
  { blockchain, contractAddress, flags }: CollectionOnChain,
  { provenance, block_number }: ProvenanceRecord,
): Promise<SealCommitment | null> {
  const { verifier, close } = await openVerifier(deps, flags, blockchain, server)
  try {
    if ('reason' in verifier) throw unreadBlockError(verifier.reason)
    const seal = await readSeal(verifier.chain, contractAddress, provenance, block_number)
    if (seal === null || !seal.isFinal || block_number === null || seal.block === block_number) return seal
    const origins = `${verifier.chain.origin} reports the seal of the drop in block ${seal.block}, but ${server.origin} reports block ${block_number}`
    throw new GdnError('bad_answer', origins, {
      hint: 'No NFT was updated. Set GDN_RPC_URL to the URL of another node on the network, and run the command again.',
    })
  } catch (error) {
    throw error instanceof UnreadableError ? unreadBlockError(error.message) : error
  } finally {
    await close()
  }
}

interface SealRecord {
  seal: ProvenanceRecord
  rule: ShuffleRule
}

/** Returns the seal of a drop. Includes the drand round if the seal is final and can be read. */
export async function toStoredSeal(
  deps: Deps,
  connection: Connection,
  { blockchain, contractAddress }: Omit<CollectionOnChain, 'flags'>,
  { seal, rule }: SealRecord,
): Promise<StoredSeal> {
  const place = { blockchain, contractAddress, flags: {} }
  const onChain = await ifReadable(deps, readSealOnChain(deps, connection, place, seal))
  if (onChain?.isFinal !== true) return { round: null, roundAt: null, isNamed: false }
  const round = findRound(QUICKNET_TIMES, onChain.time + rule.marginSeconds)
  return { round, roundAt: computeRoundTime(QUICKNET_TIMES, round), isNamed: false }
}

const unreadBlockError = (why: string) =>
  new GdnError('unreachable', `the block that sealed the drop can't be read: ${why}`, {
    hint: 'Set GDN_RPC_URL to the URL of a node on the network, and run the command again.',
  })
