import type { Blockchain } from '../../api/blockchains.ts'
import type { Server } from '../../config/server.ts'
import { flagError, type GdnError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'
import { quoted } from '../../core/quoted.ts'
import type { KnownCollection } from '../../state/known-collections.ts'
import type { GdnCommand } from '../command.ts'
import type { Deps } from '../deps.ts'
import type { ServerFlags } from '../flags/common.ts'
import { knownCollections } from './known-collections.ts'
import { serverFlag } from './server-flag.ts'

type CollectionFlags = ServerFlags & { blockchain?: Blockchain; contract?: string }

/**
 * Returns whether a value looks like an address, even one with a missing or wrong digit, or like the name of a wallet.
 */
const looksLikeAddress = (value: string): boolean => /^(?:0x.*|@.*|[1-9A-HJ-NP-Za-km-z]{32,44})$/is.test(value.trim())

/**
 * Replaces a collection name in `--contract` with the collection's address, so that commands only receive addresses.
 */
export async function resolveContractName(command: GdnCommand, deps: Deps): Promise<void> {
  const { contract, ...flags } = command.opts<CollectionFlags>()
  if (contract === undefined || command.getOptionValueSource('contract') !== 'cli') return
  command.setOptionValue('contract', await resolveCollectionAddress(deps, contract, flags, '--contract'))
}

/**
 * Returns the address of a collection, given its name or address. A name must identify exactly one of the collections
 * that this machine created on the command's server.
 *
 * @param place the flag or argument that names the collection, for errors
 * @throws GdnError `usage` for an unknown or ambiguous name; the errors of `knownCollections`
 */
export async function resolveCollectionAddress(
  deps: Deps,
  typed: string,
  flags: CollectionFlags,
  place: string,
): Promise<string> {
  if (typed === '' || looksLikeAddress(typed)) return typed
  const settings = await deps.settings({ ...flags, contract: typed })
  const server: Server = await settings.server()
  const collections = await knownCollections(deps, { settings, server })
  const collection = findCollectionByName(typed, collections, { blockchain: flags.blockchain, place })
  if (collection === undefined) throw unknownNameError(typed, collections, { place, server })
  const { contract_address, name } = collection
  if (contract_address !== null) return contract_address
  const hint = `Run \`gdn collection list${serverFlag(server)}\` to check the status of the collection.`
  throw flagError(place, `the collection ${quoted(name)} is not deployed yet`, hint)
}

/**
 * Returns the only collection with a name; undefined if there is none. Ignores case, unless a collection has exactly
 * this name.
 *
 * @throws GdnError `usage` if several collections have the name, or only collections on other blockchains
 */
export function findCollectionByName(
  typed: string,
  collections: readonly KnownCollection[],
  { blockchain, place }: { blockchain: Blockchain | undefined; place: string },
): KnownCollection | undefined {
  const wantedName = typed.trim()
  const exact = collections.filter(({ name }) => name === wantedName)
  const sameName =
    exact.length > 0 ? exact : collections.filter(({ name }) => name.toLowerCase() === wantedName.toLowerCase())
  const fitting = sameName.filter((collection) => (blockchain ?? collection.blockchain) === collection.blockchain)
  if (fitting.length === 0 && sameName.length > 0) {
    const on = [...new Set(sameName.map((collection) => collection.blockchain))].join(', ')
    throw flagError(
      place,
      `the collection ${quoted(sameName[0]?.name ?? wantedName)} is on ${on}, not on ${blockchain}`,
    )
  }
  if (fitting.length <= 1) return fitting[0]
  const lines = fitting.map(
    ({ contract_address, blockchain: on }) => `  ${contract_address ?? 'not deployed'} on ${on}`,
  )
  throw flagError(
    place,
    `${fitting.length} collections are named ${quoted(wantedName)}`,
    ['Use the address of one of them:', ...lines.slice(0, MAX_LISTED_CHOICES)].join('\n'),
  )
}

const MAX_LISTED_CHOICES = 10

function unknownNameError(
  typed: string,
  collections: readonly KnownCollection[],
  { place, server }: { place: string; server: Server },
): GdnError {
  const near = nearest(typed.trim(), [...new Set(collections.map(({ name }) => name))])
  return flagError(
    place,
    `${quoted(typed)} is neither an address nor the name of a collection that was created on this machine`,
    near !== undefined
      ? `Did you mean ${quoted(near)}?`
      : collections.length === 0
        ? 'Use the address. Only the machine that created a collection stores its name.'
        : `Use the address, or run \`gdn collection list${serverFlag(server)}\` to list the names.`,
  )
}
