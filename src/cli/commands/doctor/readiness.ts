import { type Blockchain, isBlockchain } from '../../../api/blockchains.ts'
import { parseReadinessProblems } from '../../connect/backend-ready.ts'
import { type Finding, warn } from './finding.ts'

/**
 * Returns the problems that a gdn backend reports at `/readyz`. Other servers report none.
 *
 * @param fix how to fix a problem that isn't about a network
 */
export function readinessFindings(check: string, readyz: Uint8Array, fix: string | null): Finding[] {
  return parseReadinessProblems(readyz).map((message) => {
    const network = findNetwork(message)
    const ofNetwork = `Run \`gdn chain status ${network}\` on the machine of the backend for details.`
    return warn(check, message, network === null ? fix : ofNetwork)
  })
}

/** Returns the network that a reported problem is about; null if there is none. */
function findNetwork(message: string): Blockchain | null {
  const [name = ''] = message.split(': ', 1)
  return isBlockchain(name) ? name : null
}

/**
 * Omits the findings that a backend reports about a network if this machine's own check of the network also failed.
 * That check's finding is more specific.
 */
export function withoutReportedNetworks(findings: readonly Finding[], ownFindings: readonly Finding[]): Finding[] {
  const isReported = (network: Blockchain) =>
    ownFindings.some(({ check, status }) => status !== 'ok' && check.startsWith(`${network} `))
  return findings.filter(({ status, message }) => {
    const network = status === 'warn' ? findNetwork(message) : null
    return network === null || !isReported(network)
  })
}
