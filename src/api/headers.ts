/** Header names of the API, in lower case as in Node. */
export const HEADERS = {
  apiKey: 'x-api-key',
  idempotencyKey: 'idempotency-key',
  /** Code of an error for programs; see `IDEMPOTENCY_ERRORS` and `REFERENCE_ERRORS`. */
  errorCode: 'error-code',
  idempotencyReplayed: 'idempotency-replayed',
  /** `no` with a 503 of ours: nothing was accepted or stored, and the same request may be accepted later. */
  requestAccepted: 'request-accepted',
  requestId: 'x-request-id',
  /** The batch run of a request: a hash, which reveals nothing about the manifest. */
  run: 'gdn-run',
  /** The most that the transactions of that run may cost: wei, and `;set` where a person has set it. */
  runMaxCost: 'gdn-run-max-cost',
  /**
   * The blockchains whose coins have no value on the server, separated by commas; `*` for all of them. Requests on any
   * other blockchain may cost money, and so may every request to a server without this header.
   */
  blockchainsWithoutValue: 'blockchains-without-value',
  /** `yes` in a request: reject it if the coins of its blockchain have value. */
  onlyWithoutValue: 'gdn-only-without-value',
  /** The UUID of a backend's database, and that of its incarnation, which changes when the database is restored. */
  backendId: 'gdn-backend-id',
  incarnation: 'gdn-incarnation',
  rateLimitPolicy: 'ratelimit-policy',
  retryAfter: 'retry-after',
} as const

/** The extensions that a server may have, and the header whose value `yes` announces each. */
export const CAPABILITIES = {
  /** The server honors Idempotency-Key. */
  idempotency: 'idempotency-supported',
  /** Every creating endpoint creates each reference ID once, and `getreferences` knows them. */
  references: 'reference-ids-supported',
  /** The server stores a label and kinds with reference IDs, and has `relabelreferences`. */
  labels: 'reference-labels-supported',
  /** The server has `aliasreferences` and `getcontentreferences`. */
  aliases: 'reference-aliases-supported',
  /** The server has creatednft, updatednft, freezenft and burnnft, with reference IDs. */
  updates: 'updates-supported',
  /** The server limits the cost of runs. */
  runCosts: 'run-max-cost-supported',
  /** The server limits the fees of runs, with `setrunmaxfee`. */
  runFees: 'run-max-fee-supported',
  /** The server has `getnfthistory`. */
  history: 'nft-history-supported',
} as const
export type Capability = keyof typeof CAPABILITIES

/** Values of the header `Error-Code`: why an Idempotency-Key is rejected. */
export const IDEMPOTENCY_ERRORS = {
  /** 422: the key was used with another body. That request may have had an effect. */
  reused: 'idempotency_key_reused',
  /** 400: the key is empty or too long. The request had no effect. */
  invalid: 'idempotency_key_invalid',
} as const

/** Values of the header `Error-Code`: why reference IDs are rejected. The request had no effect. */
export const REFERENCE_ERRORS = {
  /** 409: the reference ID names an operation with another digest. */
  conflict: 'reference_id_conflict',
  /** 409: the reference ID has another label. */
  otherLabel: 'reference_label_conflict',
  /** 422: the request has the reference ID twice. */
  repeated: 'reference_id_repeated',
} as const

/** Values of the header `Error-Code`: why a request for a blockchain without value is rejected. It had no effect. */
export const VALUE_ERRORS = {
  /** 412: the coins of its blockchain have value. */
  hasValue: 'blockchain_has_value',
} as const

/** Values of the header `Error-Code`: why nothing is accepted for a blockchain now. The request had no effect. */
export const CHAIN_ERRORS = {
  /** 503: its signers lack funds, or it isn't set up. The operator of the backend can change that; waiting can't. */
  notReady: 'blockchain_not_ready',
} as const

/** Values of the header `Error-Code`: why rows of a run are rejected. The request had no effect. */
export const RUN_ERRORS = {
  /** 409: the rows may cost more than the remaining limit of the run. With Retry-After, more may be left later. */
  maxCost: 'run_max_cost',
} as const
