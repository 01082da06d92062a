import { evmAddressProblem, waitForFastKeccak } from '../../api/address.ts'
import { GdnError } from '../../core/errors.ts'
import { quoted } from '../../core/quoted.ts'
import { decodeText } from '../../manifest/decode.ts'
import { ManifestError } from '../../manifest/manifest-error.ts'
import type { EnsNames } from '../../manifest/options.ts'
import { type ListColumn, type ListLine, type ListNames, readReceiverList } from '../../manifest/receiver-list.ts'
import type { ManifestIssue } from '../../manifest/row.ts'
import { type ManifestSource, NO_MANIFEST_HINT, openManifestSource } from '../../manifest/source.ts'
import { isUint256, parseUint } from './uint256.ts'

/** A line of a receiver list. A value is null if the list doesn't have the column or if the cell is empty. */
export interface Receiver {
  /** The EVM address in lower case. */
  address: string
  line: number
  count: bigint | null
  /** Price in the smallest unit of the currency. */
  price: bigint | null
  /** The address of the currency in lower case. */
  currency: string | null
}

export interface ReceiverOptions {
  /** Resolves names such as `@alice`. Undefined if names aren't allowed. */
  names?: Pick<ListNames, 'addressOf' | 'openNames'> | undefined
  /** Whether the columns `price` and `currency` are allowed. */
  prices: boolean
  signal: AbortSignal
}

/**
 * Reads a receiver list for EVM networks.
 *
 * @throws GdnError `invalid_input` for the first problem, such as an invalid or repeated address
 */
export async function readReceivers(source: ManifestSource, options: ReceiverOptions): Promise<Receiver[]> {
  try {
    return await readReceiverRows(source, options)
  } catch (error) {
    throw error instanceof ManifestError ? inputError(error.issue) : error
  }
}

async function readReceiverRows(
  source: ManifestSource,
  { names, prices, signal }: ReceiverOptions,
): Promise<Receiver[]> {
  const { name: file, bytes } = await openManifestSource(source)
  const receivers: Receiver[] = []
  // Use any EVM network, because addresses have the same format on all EVM networks.
  const list = readReceiverList(decodeText(bytes, file), file, {
    blockchain: 'ethereum',
    prices,
    names: { ...names, ensNames: NO_ENS_NAMES },
  })
  for await (const lines of list) {
    signal.throwIfAborted()
    for (const line of lines) {
      if ('issue' in line) throw inputError(line.issue)
      receivers.push(parseReceiver(line))
    }
    await waitForFastKeccak()
  }
  if (receivers.length > 0) return receivers
  throw inputError({ place: { file }, message: 'has no receivers', hint: 'Add at least one receiver.' })
}

/** Rejects ENS names, because the address of a name can change after the root is published. */
const NO_ENS_NAMES: EnsNames = {
  pin() {},
  async open() {},
  of(name) {
    const message = `${quoted(name)} is an ENS name, but proofs need addresses`
    throw new GdnError('usage', message, { hint: 'Use the address of the name.' })
  },
  async close() {},
}

function parseCount(line: ListLine): bigint | null {
  const text = line.text('count')
  if (text === null) return null
  const count = parseUint(text)
  if (count !== null && count > 0n && isUint256(count)) return count
  throw cellError(line, 'count', `count must be a whole number of at least 1, not ${quoted(text)}`)
}

function parseReceiver(line: ListLine): Receiver {
  const address = line.receiver.toLowerCase()
  const receiver: Receiver = { address, line: line.line, count: parseCount(line), price: null, currency: null }
  const [priceText, currency] = [line.text('price') ?? '', line.text('currency') ?? '']
  if (priceText !== '') {
    receiver.price = parseUint(priceText)
    if (receiver.price === null || !isUint256(receiver.price)) {
      const hint = 'Write the price in the smallest unit of the currency, such as 10000000000000000 for 0.01 ETH.'
      throw cellError(line, 'price', `price must be a whole number, not ${quoted(priceText)}`, hint)
    }
  }
  if (currency === '') return receiver
  const addressIssue = evmAddressProblem(currency)
  if (addressIssue !== null) throw cellError(line, 'currency', `currency ${addressIssue}`)
  if (receiver.price === null) {
    throw cellError(line, 'currency', 'a currency without a price has no effect', 'Add a price, or clear the currency.')
  }
  receiver.currency = currency.toLowerCase()
  return receiver
}

const cellError = (line: ListLine, column: ListColumn, message: string, hint?: string) =>
  inputError({ place: line.place(column), message, hint })

const inputError = ({ place, message, hint }: ManifestIssue) =>
  new GdnError('invalid_input', message, { place, hint: hint === NO_MANIFEST_HINT ? 'Check the path.' : hint })
