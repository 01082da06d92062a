import { addressProblem, evmAddressProblem } from '../api/address.ts'
import type { Blockchain } from '../api/blockchains.ts'
import type { Server } from '../config/server.ts'
import type { Settings } from '../config/settings.ts'
import { GdnError } from '../core/errors.ts'
import { findByAddress, type KnownCollection, knownCollections, serverName } from './known-collections.ts'

export interface Collection {
  contract: string
  blockchain: Blockchain
}

/**
 * The collection that a command means: from flags, environment, project or profile; else the only one that was made
 * from this machine on that server. Its blockchain may be known from there too.
 */
export async function whichCollection(settings: Settings, server: Server): Promise<Collection> {
  const known = await knownCollections(settings.stateDir, serverName(server))
  const contract = settings.contract?.value ?? onlyKnown(known, settings.blockchain?.value)
  const blockchain = settings.blockchain?.value ?? findByAddress(known, contract)?.blockchain
  if (blockchain === undefined) {
    refuseMistyped(contract, settings)
    throw new GdnError('usage', `the blockchain of ${contract} is not known`, {
      place: { flag: '--blockchain' },
      hint: 'name it with --blockchain (-b)',
    })
  }
  const problem = addressProblem(contract, blockchain)
  if (problem !== null) throw notAnAddress(contract, problem, settings.contract?.from)
  return { contract, blockchain }
}

/** What is no address on any blockchain is told before the blockchain is asked for. */
function refuseMistyped(contract: string, { contract: named }: Settings): void {
  const problem = contract.startsWith('0x') ? evmAddressProblem(contract) : null
  if (problem !== null) throw notAnAddress(contract, problem, named?.from)
}

const notAnAddress = (contract: string, problem: string, from = '--contract') =>
  new GdnError('usage', `"${contract}" ${problem}`, { place: { flag: from } })

function onlyKnown(known: readonly KnownCollection[], blockchain: Blockchain | undefined): string {
  const fitting = known.filter(
    (one) => one.contract_address !== null && (blockchain ?? one.blockchain) === one.blockchain,
  )
  const [only, ...others] = fitting
  if (only?.contract_address && others.length === 0) return only.contract_address
  throw new GdnError(
    'usage',
    only === undefined ? 'no collection is named' : 'several collections are known: name one',
    {
      place: { flag: '--contract' },
      hint:
        only === undefined
          ? 'name one with --contract (-c), or make one with gdn collection create'
          : fitting.map(({ name, contract_address }) => `${contract_address} ${name}`).join('\n'),
    },
  )
}
