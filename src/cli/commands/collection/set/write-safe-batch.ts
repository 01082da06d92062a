import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { count } from '../../../../core/count.ts'
import { flagError, GdnError, messageOf, systemCode } from '../../../../core/errors.ts'
import { writeNewFile } from '../../../../core/new-file.ts'
import { isExecutionError } from '../../../../server/chain/evm/execution-error.ts'
import type { Hex } from '../../../../server/chain/evm/network.ts'
import { isKnownSafeVersion, readSafe, type Safe } from '../../../../server/chain/evm/owner/safe.ts'
import { encodeOwnerCall, nameOwnerCall } from '../../../../server/chain/evm/owner/settings.ts'
import type { RemoteNetwork } from '../../../../server/chain/evm/remote/remote-network.ts'
import { RpcError } from '../../../../server/chain/rpc/rpc-response.ts'
import type { Deps } from '../../../deps.ts'
import { safe as printable } from '../../../io/io.ts'
import type { SettingChange } from './changes.ts'
import { type BatchCall, compareBatch, type SafeBatch, safeBatch } from './safe-batch.ts'

export interface SafeBatchTarget {
  /** The path that the user gave. */
  file: string
  contract: Hex
  /** The account that makes the changes. It must be a Safe. */
  from: { role: 'owner' | 'new owner'; address: Hex }
  changes: readonly SettingChange[]
  /** The changes, one per line, for people who review the batch. */
  description: string
  dryRun: boolean
}

/** Maximum size in bytes of an existing batch to compare with. */
const MAX_BATCH_BYTES = 1024 * 1024

/**
 * Writes the changes as a batch for the Safe that owns the collection. Sends no transaction. A file that already
 * contains the same changes stays unchanged.
 *
 * @throws GdnError `refused` if the owner isn't a Safe, or if the contract rejects a change; `usage` if the existing
 * file is anything else
 */
export async function writeSafeBatch(
  { io, cwd, now }: Pick<Deps, 'io' | 'cwd' | 'now'>,
  network: RemoteNetwork,
  { file, contract, from, changes, description, dryRun }: SafeBatchTarget,
): Promise<Safe> {
  const path = resolve(cwd, file)
  const safe = await readSafe(network, from.address, from.role)
  await simulate(network, { safe, contract, changes })
  if (!isKnownSafeVersion(safe.version)) {
    io.warn(
      `The Safe ${safe.address} has version ${printable(safe.version.slice(0, 40))}, which gdn does not recognize.`,
    )
  }
  const signatures = `The Safe requires ${safe.threshold} of ${count(safe.owners, 'signature')}.`
  if (dryRun) {
    io.note(
      `Nothing was written. Without --dry-run, gdn writes a batch for the Safe ${safe.address} to ${printable(path)}. ${signatures}`,
    )
    return safe
  }
  await refuseNonFile(path)
  const calls: BatchCall[] = []
  for (const change of changes) {
    const call = await change.call()
    calls.push({ to: contract, data: encodeOwnerCall(call), ...nameOwnerCall(call) })
  }
  const name = `gdn collection set: ${changes.map(({ setting }) => setting).join(', ')}`
  const batch = safeBatch(calls, { safe, chainId: network.chainId, createdAt: now(), name, description })
  const isNew = await writeNewFile(path, `${JSON.stringify(batch, null, 2)}\n`).catch((error: unknown) => {
    throw new GdnError('file_error', `can't be written: ${messageOf(error)}`, { place: { file: path }, cause: error })
  })
  if (!isNew) await refuseOtherBatch(path, batch)
  const transactions = `${count(calls.length, 'transaction')} for the Safe ${safe.address}`
  const did = isNew
    ? `Wrote ${transactions} to ${printable(path)}`
    : `${printable(path)} already contains ${transactions}`
  io.note(`${did}. Nothing was sent. ${signatures}`)
  io.note('Open the file in the Transaction Builder of Safe{Wallet}, and sign the transactions there.')
  return safe
}

/**
 * Calls each function as the Safe would.
 *
 * @throws GdnError `refused` if the contract rejects a call
 */
async function simulate(
  network: RemoteNetwork,
  { safe, contract, changes }: { safe: Safe; contract: Hex; changes: readonly SettingChange[] },
): Promise<void> {
  for (const { setting, estimate } of changes) {
    try {
      await network.request('eth_call', [
        { from: safe.address, to: contract, data: encodeOwnerCall(estimate) },
        'latest',
      ])
    } catch (error) {
      if (!(error instanceof RpcError) || !isExecutionError(error)) throw error
      throw new GdnError('refused', `the contract rejects the change to ${setting}: ${printable(error.message)}`, {
        hint: 'Nothing was written.',
      })
    }
  }
}

/** Refuses a path that isn't a file, before anything is uploaded. */
async function refuseNonFile(path: string): Promise<void> {
  const stats = await stat(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null
    throw new GdnError('file_error', `can't be written: ${messageOf(error)}`, { place: { file: path }, cause: error })
  })
  if (stats !== null && !stats.isFile()) throw flagError('--safe', `${path} is not a regular file`, OTHER_NAME_HINT)
}

const OTHER_NAME_HINT = 'Use another name. Existing files are not overwritten.'

/** @throws GdnError `usage` if the existing file isn't a batch of the same transactions */
async function refuseOtherBatch(path: string, batch: SafeBatch): Promise<void> {
  const { size } = await stat(path)
  const comparison = size > MAX_BATCH_BYTES ? 'other' : compareBatch(await readFile(path), batch)
  if (comparison === 'same') return
  if (comparison === 'other') throw flagError('--safe', `${path} already exists`, OTHER_NAME_HINT)
  throw flagError(
    '--safe',
    `${path} already exists, and was changed after it was written: its checksum is wrong`,
    'Do not sign the file. Delete it, or use another name.',
  )
}
