import { type Blockchain, isTestnet } from '../../api/blockchains.ts'
import type { Connection } from '../deps.ts'

/**
 * Returns whether the coins of a blockchain have no value, as far as the server has said so. Another server than one on
 * this machine isn't believed: its operator may charge for requests on any chain.
 *
 * @param blockchain null if it isn't known, which may be a public network
 */
export const isWithoutValue = (
  blockchain: Blockchain | null,
  { client, server }: Pick<Connection, 'client' | 'server'>,
): boolean =>
  (blockchain !== null && isTestnet(blockchain)) || (server.loopback && client.hasNoValue(blockchain) === true)

/** Names a blockchain in a prompt: `polygon, a public network`, or `polygon` if its coins have no value. */
export const networkText = (blockchain: Blockchain, connection: Pick<Connection, 'client' | 'server'>, end = '') =>
  isWithoutValue(blockchain, connection) ? blockchain : `${blockchain}, a public network${end}`
