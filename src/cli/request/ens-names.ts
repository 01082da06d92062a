import { isEnsName } from '../../api/ens-name.ts'
import { isSameAddress } from '../../api/same-address.ts'
import type { Settings } from '../../config/settings.ts'
import { GdnError, type Place } from '../../core/errors.ts'
import type { Deps } from '../deps.ts'
import { type EnsFlags, type NameNetwork, toNameNetwork } from '../flags/ens.ts'
import { type Io, safe } from '../io/io.ts'

export interface EnsContext {
  settings: Pick<Settings, 'ensRpcUrl'>
  flags: EnsFlags
  /** The network of the request. Names are resolved for this network. */
  blockchain: unknown
}

/** The addresses that a command has already printed, by name and blockchain, so that each name is resolved once. */
const shownNames = new WeakMap<Io, Map<string, string>>()

/** The names in the fields of a command's request, and their addresses. */
const requestNames = new WeakMap<Io, Map<string, { name: string; address: string }>>()

/**
 * Returns the content that identifies a request. It contains ENS names instead of their addresses, so that a repeated
 * command finds its operation even if a name has a different address by then.
 */
export function restoreNames(io: Io, content: unknown): unknown {
  if (content === null || typeof content !== 'object') return content
  const fields = content as Readonly<Record<string, unknown>>
  const names = [...(requestNames.get(io) ?? [])].filter(([field, { address }]) => isSame(fields[field], address))
  return { ...fields, ...Object.fromEntries(names.map(([field, { name }]) => [field, name])) }
}

const isSame = (value: unknown, address: string) => typeof value === 'string' && isSameAddress(value, address)

/** Adds the receiver's ENS name to a request, if the user specified one. */
export function withReceiverName(io: Io, request: object): object {
  const receiver = requestNames.get(io)?.get('receiver_wallet_address')
  if (receiver === undefined || !('receiver_wallet_address' in request)) return request
  return isSame(request.receiver_wallet_address, receiver.address)
    ? { ...request, receiver_name: receiver.name }
    : request
}

/**
 * Prints the ENS names that had different addresses when an operation's request was sent. The request keeps these
 * addresses.
 *
 * @param body the request as JSON
 */
export function noteMovedNames(io: Io, body: string): void {
  const names = requestNames.get(io)
  if (names === undefined) return
  const sentFields = JSON.parse(body) as Record<string, unknown>
  for (const [field, { name, address }] of names) {
    const before = sentFields[field]
    if (typeof before !== 'string' || isSame(before, address)) continue
    io.warn(`${safe(name)} had the address ${safe(before)} when the request was sent. The request keeps this address.`)
  }
}

/**
 * Returns the fields with ENS names such as `alice.eth` replaced by addresses. Prints each name and its address.
 *
 * @param placeOf returns the place from which a field's value comes, for messages
 * @throws GdnError `usage`, `refused` before anything is sent
 */
export async function resolveEnsFields<Fields extends object>(
  deps: Pick<Deps, 'env' | 'io' | 'signals'>,
  context: EnsContext,
  fields: Fields,
  placeOf: (field: string) => Place,
): Promise<Fields> {
  const fieldsWithNames = Object.entries(fields).flatMap(([field, value]) =>
    isEnsName(value) ? [{ field, given: value, place: placeOf(field) }] : [],
  )
  if (fieldsWithNames.length === 0) return fields
  const addresses = await resolveAll(deps, context, fieldsWithNames)
  const names = requestNames.get(deps.io) ?? new Map<string, { name: string; address: string }>()
  requestNames.set(deps.io, names)
  for (const [index, { field }] of fieldsWithNames.entries()) {
    const { name = '', address = '' } = addresses[index] ?? {}
    names.set(field, { name, address })
  }
  return {
    ...fields,
    ...Object.fromEntries(fieldsWithNames.map(({ field }, index) => [field, addresses[index]?.address])),
  }
}

async function resolveAll(
  deps: Pick<Deps, 'env' | 'io' | 'signals'>,
  { settings, flags, blockchain }: EnsContext,
  givenNames: readonly { given: string; place: Place }[],
): Promise<{ name: string; address: string }[]> {
  const { normalizeName } = await import('../../ens/normalize-name.ts')
  const wanted = givenNames.map(({ given, place }) => {
    const name = normalizeName(given, place)
    return { name, place, network: toNameNetwork(name, blockchain, place) }
  })
  const before = shownNames.get(deps.io) ?? new Map<string, string>()
  shownNames.set(deps.io, before)
  const open = wanted.filter(({ name, network }) => !before.has(nameKey(name, network)))
  const [first] = open
  if (first !== undefined) {
    const node = settings.ensRpcUrl
    if (node === null) throw noNodeError(first)
    const { withEns } = await import('../connect/open-ens.ts')
    await withEns(deps, node, flags, async (resolver) => {
      const progress = await deps.io.progress('Resolving ENS names')
      try {
        const results = await Promise.allSettled(open.map(({ name, network }) => resolver.resolve(name, network)))
        results.forEach((result, index) => {
          const { name, network, place } = open[index] ?? first
          if (result.status === 'rejected') throw addPlace(result.reason, place)
          before.set(nameKey(name, network), result.value)
        })
      } finally {
        progress.stop()
      }
    })
    const lines = open.map(({ name, network }) => `${safe(name)} → ${before.get(nameKey(name, network))}`)
    for (const line of new Set(lines)) deps.io.note(line)
  }
  return wanted.map(({ name, network }) => ({ name, address: before.get(nameKey(name, network)) ?? '' }))
}

const nameKey = (name: string, network: NameNetwork): string => `${network.chainId} ${name}`

/** Adds a place to an error, unless the error is about the node and already has one. */
const addPlace = (error: unknown, place: Place): unknown =>
  error instanceof GdnError && !hasPlace(error) ? error.with({ place }) : error

export const hasPlace = ({ place }: GdnError): boolean => place !== undefined

export function noNodeError({ name, place }: { name: string; place?: Place | undefined }): GdnError {
  return new GdnError('usage', `${safe(name)} is an ENS name, and no Ethereum node is configured to resolve it`, {
    place,
    hint: 'Set GDN_ENS_RPC_URL to the JSON-RPC URL of an Ethereum mainnet node, or run `gdn config set ens_rpc_url <url>`. Otherwise, use the address.',
  })
}
