import { count } from '../../core/count.ts'
import { createFastKeccak } from '../../core/fast-keccak.ts'
import type { ManifestIssue } from '../../manifest/row.ts'
import type { ManifestSource } from '../../manifest/source.ts'
import {
  createOzFormat,
  createSeadropFormat,
  createThirdwebFormat,
  type Keccak,
  type LeafFormat,
  type ProofFormat,
} from './leaf-formats.ts'
import { MerkleTree } from './merkle-tree.ts'
import { checkMintParams } from './mint-params.ts'
import type { ProofSet } from './proof-set.ts'
import { type Receiver, type ReceiverOptions, readReceivers } from './receivers.ts'

/** A JSON file with SeaDrop's MintParams. */
export interface ParamsFile {
  name: string
  params: Record<string, unknown>
}

interface BuildOptions extends Pick<ReceiverOptions, 'names' | 'signal'> {
  /** Required for the format `seadrop`, and null for other formats. */
  params: ParamsFile | null
  onProgress(text: string): void
}

/**
 * Reads a receiver list, and computes its Merkle tree. The warnings are about values with possibly unintended effects.
 */
export async function buildProofs(
  source: ManifestSource,
  format: ProofFormat,
  { params, names, signal, onProgress }: BuildOptions,
): Promise<{ set: ProofSet; warnings: ManifestIssue[] }> {
  const receivers = await readReceivers(source, { names, prices: format === 'thirdweb', signal })
  const hasCounts = receivers[0]?.count !== null
  const keccak = await createFastKeccak()
  const warnings = findFreeClaims(receivers, 'path' in source ? source.path : (source.name ?? 'stdin'))
  const leaves =
    params === null ? createLeafFormat(format, keccak, hasCounts) : withParams(params, keccak, hasCounts, warnings)
  onProgress(`Hashing ${count(receivers.length, 'receiver')}`)
  const leafOf = (i: number) => leaves.hashLeaf(receivers[i] as Receiver)
  const tree = await MerkleTree.build(receivers.length, leafOf, keccak, signal)
  return { set: { receivers, format: leaves, tree }, warnings }
}

const createLeafFormat = (format: ProofFormat, keccak: Keccak, hasCounts: boolean): LeafFormat =>
  format === 'oz' ? createOzFormat(keccak, hasCounts) : createThirdwebFormat(keccak)

function withParams(
  { name, params }: ParamsFile,
  keccak: Keccak,
  hasCounts: boolean,
  warnings: ManifestIssue[],
): LeafFormat {
  const checked = checkMintParams(params, name, hasCounts)
  if (hasCounts && checked.maxTotalMintableByWallet !== null) {
    const message = 'maxTotalMintableByWallet replaces the counts of the list'
    const hint = 'To apply the count of each receiver, remove the field.'
    warnings.push({ place: { file: name, field: 'maxTotalMintableByWallet' }, message, hint })
  }
  return createSeadropFormat(keccak, checked)
}

/** Returns a warning if receivers have the price 0, which users may mistake for no override. */
function findFreeClaims(receivers: readonly Receiver[], file: string): ManifestIssue[] {
  const free = receivers.filter(({ price }) => price === 0n)
  const [first] = free
  if (first === undefined) return []
  const moreText = free.length === 1 ? '' : ` and ${count(free.length - 1, 'other receiver')}`
  const message = `a price of 0 lets ${first.address}${moreText} claim for free`
  const hint = 'To keep the price of the claim condition, leave the cell empty.'
  return [{ place: { file, line: first.line }, message, hint }]
}
