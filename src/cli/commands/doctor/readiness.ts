import * as z from 'zod'
import { BLOCKCHAIN_NAMES, type Blockchain } from '../../../api/blockchains.ts'
import { parseJson } from '../../../client/answers.ts'
import { type Finding, warn } from './finding.ts'

const readiness = z.object({ problems: z.array(z.string()).optional(), warnings: z.array(z.string()).optional() })

/**
 * What a backend of gdn says that it can't do at the moment, by its `/readyz`; other servers tell nothing.
 *
 * @param fix what to do about what is no network's fault
 */
export function readinessFindings(check: string, readyz: Uint8Array, fix: string | null): Finding[] {
  const { data: { problems = [], warnings = [] } = {} } = readiness.safeParse(parseJson(readyz))
  return [...problems, ...warnings].map((message) => {
    const network = networkOf(message)
    const ofNetwork = `on the machine of the backend, gdn chain status ${network} says more of it`
    return warn(check, message, network === null ? fix : ofNetwork)
  })
}

/** The network that such a sentence is about. */
function networkOf(message: string): Blockchain | null {
  return BLOCKCHAIN_NAMES.find((name) => message.startsWith(`${name}: `)) ?? null
}

/** Without what the backend says of networks that were found at fault from here too: that says more. */
export function withoutReportedNetworks(findings: readonly Finding[], own: readonly Finding[]): Finding[] {
  const isReported = (network: Blockchain) =>
    own.some(({ check, status }) => status !== 'ok' && check.startsWith(`${network} `))
  return findings.filter(({ status, message }) => {
    const network = status === 'warn' ? networkOf(message) : null
    return network === null || !isReported(network)
  })
}
