import type { EndpointName } from '../../api/endpoints.ts'
import { parseYaml } from '../../api/parse-yaml.ts'
import { GdnError } from '../../core/errors.ts'
import { failFreshNfts, holdFreshNfts } from '../state/nfts.ts'
import type { Db } from '../store/schema.ts'
import { chooseFaults, describeRule, type InjectedFault } from './fault-for.ts'
import { faultsFileSchema } from './schema.ts'

/** Fault injection, which tests how a client handles server errors. */
export interface Faults {
  /** Descriptions of the rules, each as a sentence. */
  readonly descriptions: readonly string[]
  /** Returns the faults for the next request to an endpoint. Each call counts as a request. */
  next(endpoint: EndpointName, requestId: string): InjectedFault
  /** Sets the outcomes of NFTs. Must be called in the transaction that accepts their request. */
  onAccepted(db: Db, requestId: string): Promise<void>
  /** Discards the faults of a completed request. */
  end(requestId: string): void
}

const REASON = 'an injected fault'

/** Hint of every error in a fault file. */
export const FAULTS_HINT = 'See docs/fault-injection.md for the faults and the fields of their rules.'

function rulesIn(text: string, file: string) {
  try {
    return parseYaml(faultsFileSchema, text, file)
  } catch (error) {
    throw error instanceof GdnError ? error.withHint(FAULTS_HINT) : error
  }
}

/**
 * Creates the fault injection from the text of a fault file.
 *
 * @throws GdnError `invalid_config` with the location of the problem
 */
export function createFaults({ text, file }: { text: string; file: string }): Faults {
  const rules = rulesIn(text, file)
  const counts = new Map<EndpointName, number>()
  const injectedFaults = new Map<string, InjectedFault>()
  return {
    descriptions: rules.faults.map(describeRule),

    next(endpoint, requestId) {
      const requestNumber = (counts.get(endpoint) ?? 0) + 1
      counts.set(endpoint, requestNumber)
      const injected = chooseFaults(rules, endpoint, requestNumber)
      injectedFaults.set(requestId, injected)
      return injected
    },

    async onAccepted(db, requestId) {
      const verdict = injectedFaults.get(requestId)?.verdict
      if (verdict?.fault !== 'nft') return
      if (verdict.becomes === 'failed') await failFreshNfts(db, requestId, verdict.reason ?? REASON)
      else await holdFreshNfts(db, requestId)
    },

    end(requestId) {
      injectedFaults.delete(requestId)
    },
  }
}
