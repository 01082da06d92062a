import { getAddress, keccak256, parseTransaction, recoverTransactionAddress, serializeTransaction } from 'viem'
import { GdnError } from '../../../../core/errors.ts'
import { shorten } from '../../../../core/shorten.ts'
import { toViemTransaction, type UnsignedTransaction } from '../evm-signer.ts'
import type { Hex } from '../network.ts'

/** Half the order of secp256k1. Networks reject a signature with a higher s (EIP-2). */
const HIGHEST_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n
const RAW = /^0x[0-9a-f]+$/i

type Parsed = ReturnType<typeof parseTransaction>

/**
 * Returns the signed transaction if it is exactly the requested one. Checks each field, the signing account, and that
 * there are no additional bytes.
 *
 * @throws GdnError `bad_answer` with the field that differs
 */
export async function checkSigned(
  unsigned: UnsignedTransaction,
  account: Hex,
  response: unknown,
  host: string,
): Promise<{ raw: Hex; hash: Hex }> {
  const signatureError = (problem: string, cause?: unknown) =>
    new GdnError('bad_answer', `the signer at ${host} returned a transaction that was not requested: ${problem}`, {
      hint: 'Nothing was stored or sent. Check the signer before you continue.',
      cause,
    })
  if (typeof response !== 'string' || !RAW.test(response) || response.length % 2 !== 0)
    throw signatureError('it is not hex-encoded')
  const raw = response.toLowerCase() as Hex
  let parsed: Parsed
  try {
    parsed = parseTransaction(raw)
  } catch (cause) {
    throw signatureError("it can't be decoded", cause)
  }
  const expected = toViemTransaction(unsigned)
  for (const [field, actual, wanted] of listFields(parsed, expected)) {
    if (actual !== wanted)
      throw signatureError(`its ${field} is ${formatValue(actual)} instead of ${formatValue(wanted)}`)
  }
  const { r, s, yParity } = parsed
  if (r === undefined || s === undefined || yParity === undefined) throw signatureError('it is not signed')
  if (BigInt(s) > HIGHEST_S) throw signatureError('its signature is not canonical (EIP-2)')
  // The comparison also rules out additional fields, other encodings of the same numbers, and trailing bytes.
  const signature = { r, s, yParity, v: BigInt(27 + yParity) }
  if (serializeTransaction(expected, signature) !== raw) throw signatureError('its encoding is not canonical')
  const signer = await recover(raw)
  if (signer !== account)
    throw signatureError(`it is signed by ${signer ?? 'an unknown account'} instead of ${account}`)
  return { raw, hash: keccak256(raw) }
}

type Field = readonly [name: string, is: unknown, should: unknown]

/** Returns the fields of a transaction as returned and as requested. Absent fields get their default values. */
function listFields(parsed: Parsed, expected: ReturnType<typeof toViemTransaction>): Field[] {
  const actual = parsed as Partial<Record<string, unknown>>
  const wanted = expected as Partial<Record<string, unknown>>
  const number = (name: string): Field => [
    name,
    BigInt((actual[name] as bigint) ?? 0),
    BigInt((wanted[name] as bigint) ?? 0),
  ]
  const list = (value: unknown) => (Array.isArray(value) ? value.length : 0)
  return [
    ['type', actual.type, wanted.type],
    ['chain ID', BigInt((actual.chainId as number) ?? 0), BigInt(expected.chainId)],
    number('nonce'),
    ['receiver', addressOrNull(actual.to), addressOrNull(wanted.to)],
    number('value'),
    ['data', actual.data ?? '0x', expected.data.toLowerCase()],
    number('gas'),
    number('gasPrice'),
    number('maxFeePerGas'),
    number('maxPriorityFeePerGas'),
    ['access list', list(actual.accessList), 0],
  ]
}

const addressOrNull = (value: unknown) => (typeof value === 'string' && value !== '0x' ? getAddress(value) : null)

/** Formats a value for a message. Truncates it, because transaction data can be a hundred kilobytes long. */
function formatValue(value: unknown): string {
  return value === null ? 'none' : shorten(String(value), 80)
}

async function recover(raw: Hex): Promise<Hex | null> {
  try {
    return await recoverTransactionAddress({
      serializedTransaction: raw as Parameters<typeof recoverTransactionAddress>[0]['serializedTransaction'],
    })
  } catch {
    return null
  }
}
