import { createHash } from 'node:crypto'
import type { EndpointName } from '../../api/endpoints.ts'
import { type FaultRule, type FaultsFile, MINTING } from './schema.ts'

/** The effect of a rule on one request. */
export type FaultEffect = Exclude<FaultRule, { fault: 'latency' }>

/** The faults that are injected into a request. */
export interface InjectedFault {
  /** Delay in milliseconds before the fault. */
  delayMs: number
  /** The first matching rule that isn't a latency rule. Latency may be added to any fault. */
  verdict: FaultEffect | null
}

/** Returns a pseudorandom number in [0, 1) that depends only on the words, so it is the same on every machine. */
function draw(...parts: (string | number)[]): number {
  const digest = createHash('sha256').update(parts.join('\n')).digest()
  return digest.readUIntBE(0, 6) / 2 ** 48
}

function concerns(rule: FaultRule, endpoint: EndpointName): boolean {
  if (rule.fault === 'nft' && !MINTING.includes(endpoint)) return false
  const ruleEndpoints: readonly string[] = [rule.endpoint].flat()
  return ruleEndpoints.includes('*') || ruleEndpoints.includes(endpoint)
}

function chooseDelayMs(milliseconds: number | [number, number], luck: number): number {
  if (typeof milliseconds === 'number') return milliseconds
  const [low, high] = milliseconds
  return Math.round(low + luck * (high - low))
}

/**
 * Returns the faults that are injected into a request. The result depends only on the seed, the rules and the request's
 * number, so the n-th request to an endpoint always gets the same faults.
 */
export function chooseFaults(
  { seed, faults }: FaultsFile,
  endpoint: EndpointName,
  requestNumber: number,
): InjectedFault {
  const injected: InjectedFault = { delayMs: 0, verdict: null }
  for (const [index, rule] of faults.entries()) {
    if (!concerns(rule, endpoint) || draw(seed, endpoint, index, requestNumber) >= rule.share) continue
    if (rule.fault === 'latency')
      injected.delayMs += chooseDelayMs(rule.milliseconds, draw(seed, endpoint, index, requestNumber, 'delay'))
    else injected.verdict ??= rule
  }
  return injected
}

const percent = (share: number) => `${Number((share * 100).toFixed(3))} %`

function describeEffect(rule: FaultRule): string {
  switch (rule.fault) {
    case 'latency': {
      const { milliseconds } = rule
      return `are delayed by ${typeof milliseconds === 'number' ? milliseconds : milliseconds.join(' to ')} ms`
    }
    case 'status':
      return `return HTTP ${rule.status}`
    case 'timeout':
      return 'are accepted, but receive no response'
    case 'cut':
      return `lose their connection ${rule.when} they are accepted`
    case 'nft':
      return rule.becomes === 'failed' ? 'create NFTs that fail' : 'create NFTs that stay initiated'
  }
}

/** A rule as a sentence: `10 % of createnft requests return HTTP 429`. */
export function describeRule(rule: FaultRule): string {
  const ruleEndpoints: readonly string[] = [rule.endpoint].flat()
  const endpoints = ruleEndpoints.includes('*') ? 'all requests' : `${ruleEndpoints.join(' and ')} requests`
  return `${percent(rule.share)} of ${endpoints} ${describeEffect(rule)}`
}
