import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import * as z from 'zod'
import { type CreatingEndpoint, ENDPOINT_NAMES } from '../api/endpoints.ts'
import { canonicalJson } from '../core/canonical-json.ts'

/** The format of an order's file. A file of a higher one is refused, never guessed at. */
export const ORDER_VERSION = 1

const accepted = z.object({
  /** Of what was minted; empty for the others. */
  nfts: z.array(z.object({ nft_gdn_id: z.string(), accepted_date: z.string().nullable() })),
  /** Of transfers and collections; null where the outcome was found without its answer. */
  transaction_gdn_id: z.string().nullable(),
  accepted_date: z.string().nullable(),
  /** `answer`: the server's answer. `found`: seen on the server afterwards. */
  by: z.enum(['answer', 'found']),
  at: z.number(),
})

const order = z.object({
  id: z.string(),
  endpoint: z.custom<CreatingEndpoint>((name) => ENDPOINT_NAMES.some((one) => one === name)),
  /** What tells the server from others, as in a run. */
  origin: z.string(),
  /** The backend that it was sent to; missing in an order of an older gdn. */
  backend: z.object({ url: z.string(), id: z.string().nullable(), incarnation: z.string().nullable() }).optional(),
  blockchain: z.string().nullable(),
  contract: z.string().nullable(),
  /** The Idempotency-Key. */
  key: z.string(),
  /** The very bytes that are sent, and sent again. */
  body: z.string(),
  /**
   * `sending`: a byte may have left. `unknown`: it did, and no answer tells what became of it. `accepted`: the server
   * has it. `told`: its end was told; the next command of this content is a new order.
   */
  state: z.enum(['sending', 'unknown', 'accepted', 'told']),
  sent_at: z.number(),
  /** Why the outcome is unknown. */
  reason: z.string().nullable(),
  /** The NFTs of the collection before this was sent, as an IdSet in base64; null where nobody could look. */
  before: z.string().nullable(),
  accepted: accepted.nullable(),
})

/** One request of a single command, as it is kept on the disk. */
export type Order = z.output<typeof order>

/** What the server took. */
export type Accepted = z.output<typeof accepted>

/** An order that was accepted, or whose end was told. */
export type AcceptedOrder = Order & { accepted: Accepted }

const ID_DIGITS = 24

/** What an order is known by. Never the API key, nor anything that differs from one try to the next. */
export interface OrderName {
  origin: string
  endpoint: CreatingEndpoint
  content: unknown
}

/** The same order has the same id: an EVM address in another case is the same address. */
export function orderId({ origin, endpoint, content }: OrderName): string {
  const named = canonicalJson([origin, endpoint, lowerAddresses(content)])
  return createHash('sha256').update(named).digest('hex').slice(0, ID_DIGITS)
}

/** Addresses are members of the request itself: what looks like one in metadata is text, and stays as it is. */
function lowerAddresses(content: unknown): unknown {
  if (content === null || typeof content !== 'object' || Array.isArray(content)) return content
  return Object.fromEntries(
    Object.entries(content).map(([name, value]): [string, unknown] => [
      name,
      typeof value === 'string' && /^0x[0-9a-f]{40}$/i.test(value) ? value.toLowerCase() : value,
    ]),
  )
}

const crcOf = (value: unknown) => crc32(JSON.stringify(value)).toString(16).padStart(8, '0')

export function encodeOrder(value: Order): string {
  return `${JSON.stringify({ v: ORDER_VERSION, crc: crcOf(value), order: value })}\n`
}

export type Decoded = { kind: 'order'; order: Order } | { kind: 'newer'; version: number } | { kind: 'damaged' }

export function decodeOrder(text: string): Decoded {
  let file: { v?: unknown; crc?: unknown; order?: unknown } | null
  try {
    file = JSON.parse(text)
  } catch {
    return { kind: 'damaged' }
  }
  if (typeof file?.v === 'number' && file.v > ORDER_VERSION) return { kind: 'newer', version: file.v }
  if (file?.v !== ORDER_VERSION || file.order === undefined || file.crc !== crcOf(file.order)) {
    return { kind: 'damaged' }
  }
  const parsed = order.safeParse(file.order)
  return parsed.success ? { kind: 'order', order: parsed.data } : { kind: 'damaged' }
}
