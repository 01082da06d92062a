import type { RpcOutcome } from '../chain/rpc/providers.ts'
import type { Condition } from '../readiness.ts'
import type { StorageObservation } from '../storage/measure-storage.ts'
import type { Db } from '../store/schema.ts'

/** An event that is counted. */
export type MetricEvent =
  | { what: 'request'; method: string; route: string; status: number; seconds: number }
  /** A final transaction, and the number of NFTs that it created. */
  | { what: 'transaction'; blockchain: string; kind: string; gas: number; nfts: number }
  | ({ what: 'storage' } & StorageObservation)
  | { what: 'chain_died'; blockchain: string }
  | { what: 'rpc'; blockchain: string; provider: string; outcome: RpcOutcome }
  | { what: 'webhook'; outcome: 'delivered' | 'retried' | 'failed' }

export interface Metrics {
  observe(observation: MetricEvent): void
  /** Returns all metrics in the text format of Prometheus, and the content type. */
  scrape(): Promise<{ text: string; type: string }>
}

export interface MetricsOptions {
  db: Db
  /** Balances of the signers of networks with an RPC URL, as of the last check. */
  signers: () => readonly { blockchain: string; address: string; coins: number }[]
  /** Returns the networks with an RPC URL, and whether a problem prevents the use of each. */
  readNetworkStates: () => Promise<readonly { blockchain: string; isHindered: boolean }[]>
  now: () => number
  /** Returns whether the process is ready, as /readyz does. */
  ready: () => Promise<Condition>
  dataDir: string
  version: string
}
