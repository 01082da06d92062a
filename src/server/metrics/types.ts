import type { Db } from '../store/schema.ts'

/** Something that happened and is counted. */
export type Observation =
  | { what: 'request'; method: string; route: string; status: number; seconds: number }
  | { what: 'gas'; blockchain: string; kind: string; gas: number }
  | { what: 'chain_died'; blockchain: string }
  | { what: 'webhook'; outcome: 'delivered' | 'retried' | 'failed' }

export interface Metrics {
  observe(observation: Observation): void
  /** Everything in the text format of Prometheus, and its content type. */
  scrape(): Promise<{ text: string; type: string }>
}

export interface MetricsOptions {
  db: Db
  /** What was seen last of the signers of networks by RPC URL. */
  signers: () => { blockchain: string; states: readonly { address: string; balance: bigint }[] }[]
  now: () => number
  version: string
}
