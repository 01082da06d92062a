import { type Blockchain, isTestnet } from '../../api/blockchains.ts'
import type { Connection } from '../deps.ts'

/**
 * Returns whether a blockchain's coins are known to have no value, because it is a testnet or because a server on this
 * machine reports it. Other servers aren't trusted, because their operators may charge for requests on any chain.
 *
 * @param blockchain null if unknown. It may be a public network.
 */
export const isWithoutValue = (
  blockchain: Blockchain | null,
  { client, server }: Pick<Connection, 'client' | 'server'>,
): boolean =>
  (blockchain !== null && isTestnet(blockchain)) || (server.isLoopback && client.hasNoValue(blockchain) === true)

/** Names a blockchain in a prompt, such as `polygon, a public network`, or `polygon` if its coins have no value. */
export const networkText = (blockchain: Blockchain, connection: Pick<Connection, 'client' | 'server'>, end = '') =>
  isWithoutValue(blockchain, connection) ? blockchain : `${blockchain}, a public network${end}`
