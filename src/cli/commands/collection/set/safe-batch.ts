import { keccak256, stringToHex } from 'viem'
import { isRecord, parseJson } from '../../../../core/json.ts'
import type { Safe } from '../../../../server/chain/evm/owner/safe.ts'
import type { NamedCall } from '../../../../server/chain/evm/owner/settings.ts'

/** A batch of transactions in the format of the Transaction Builder of Safe{Wallet}. */
export interface SafeBatch {
  version: '1.0'
  chainId: string
  /** The creation time, in milliseconds since the epoch. */
  createdAt: number
  meta: {
    name: string
    description: string
    createdFromSafeAddress: string
    createdFromOwnerAddress: string
    checksum: string
  }
  transactions: readonly SafeTransaction[]
}

interface SafeTransaction {
  to: string
  value: string
  data: string
  contractMethod: { inputs: readonly unknown[]; name: string; payable: boolean }
  contractInputsValues: Readonly<Record<string, string>>
}

/** A contract call, both encoded and as a name with arguments. */
export interface BatchCall extends NamedCall {
  to: string
  data: string
}

/** Builds the batch of calls that a Safe executes. */
export function safeBatch(
  calls: readonly BatchCall[],
  about: { safe: Safe; chainId: number; createdAt: number; name: string; description: string },
): SafeBatch {
  const batch = {
    version: '1.0' as const,
    chainId: String(about.chainId),
    createdAt: about.createdAt,
    meta: {
      name: about.name,
      description: about.description,
      createdFromSafeAddress: about.safe.address,
      createdFromOwnerAddress: '',
    },
    transactions: calls.map(({ to, data, function: { inputs, name }, values }) => ({
      to,
      value: '0',
      data,
      contractMethod: {
        inputs: inputs.map((input) => ({ internalType: input.type, name: input.name ?? '', type: input.type })),
        name,
        payable: false,
      },
      contractInputsValues: values,
    })),
  }
  return { ...batch, meta: { ...batch.meta, checksum: batchChecksum(batch) } }
}

/**
 * Returns the checksum of a batch as the Transaction Builder calculates it. The checksum is the Keccak-256 hash of the
 * content with sorted keys, without the name and the checksum.
 *
 * @see https://github.com/safe-global/safe-wallet-monorepo/blob/dev/apps/tx-builder/src/lib/checksum.ts
 */
export function batchChecksum(batch: { meta: object }): string {
  const { checksum: _checksum, ...meta } = batch.meta as Record<string, unknown>
  return keccak256(stringToHex(serializeValue({ ...batch, meta: { ...meta, name: null } })))
}

function serializeValue(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(serializeValue).join(',')}]`
  if (!isRecord(value)) return JSON.stringify(value ?? null)
  const keys = Object.keys(value).sort()
  return `{${JSON.stringify(keys)}${keys.map((key) => `${serializeValue(value[key])},`).join('')}}`
}

/**
 * Compares the content of a file with a batch. Returns `same` for a batch of the same transactions, `changed` for a
 * batch with a wrong checksum, and `other` for anything else.
 */
export function compareBatch(content: Uint8Array, batch: SafeBatch): 'same' | 'changed' | 'other' {
  try {
    return compareJson(parseJson(content), batch)
  } catch (error) {
    // The JSON may be nested too deeply to calculate a checksum.
    if (error instanceof RangeError) return 'other'
    throw error
  }
}

function compareJson(json: unknown, batch: SafeBatch): 'same' | 'changed' | 'other' {
  if (!isRecord(json) || !isRecord(json.meta) || typeof json.meta.checksum !== 'string') return 'other'
  if (batchChecksum({ ...json, meta: json.meta }) !== json.meta.checksum) return 'changed'
  const { chainId, transactions } = json
  const isSame =
    json.meta.createdFromSafeAddress === batch.meta.createdFromSafeAddress &&
    serializeValue({ chainId, transactions }) ===
      serializeValue({ chainId: batch.chainId, transactions: batch.transactions })
  return isSame ? 'same' : 'other'
}
