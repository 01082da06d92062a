import type { RpcOutcome } from '../chain/rpc/providers.ts'
import type { Condition } from '../readiness.ts'
import type { StorageObservation } from '../storage/measured.ts'
import type { Db } from '../store/schema.ts'

/** Something that happened and is counted. */
export type Observation =
  | { what: 'request'; method: string; route: string; status: number; seconds: number }
  /** A transaction that is final, and how many NFTs it has created. */
  | { what: 'transaction'; blockchain: string; kind: string; gas: number; nfts: number }
  | ({ what: 'storage' } & StorageObservation)
  | { what: 'chain_died'; blockchain: string }
  | { what: 'rpc'; blockchain: string; provider: string; outcome: RpcOutcome }
  | { what: 'webhook'; outcome: 'delivered' | 'retried' | 'failed' }

export interface Metrics {
  observe(observation: Observation): void
  /** Everything in the text format of Prometheus, and its content type. */
  scrape(): Promise<{ text: string; type: string }>
}

export interface MetricsOptions {
  db: Db
  /** What was seen last of the signers of networks by RPC URL. */
  signers: () => readonly { blockchain: string; address: string; coins: number }[]
  /** Networks by RPC URL, and whether anything keeps them from being worked on. */
  hindered: () => Promise<readonly { blockchain: string; isHindered: boolean }[]>
  now: () => number
  /** Whether work can be done, for /readyz as well. */
  ready: () => Promise<Condition>
  dataDir: string
  version: string
}
