/** Header names of the API, in lower case as in Node.js. */
export const HEADERS = {
  apiKey: 'x-api-key',
  idempotencyKey: 'idempotency-key',
  /** The machine-readable error code, such as those in `IDEMPOTENCY_ERRORS` and `REFERENCE_ERRORS`. */
  errorCode: 'error-code',
  idempotencyReplayed: 'idempotency-replayed',
  /**
   * `no` in a 503 response of a gdn backend if nothing was accepted or stored, and the same request may be accepted
   * later.
   */
  requestAccepted: 'request-accepted',
  requestId: 'x-request-id',
  /** The batch run to which a request belongs: a hash that reveals nothing about the manifest. */
  run: 'gdn-run',
  /** The run's cost limit in wei, followed by `;set` if a user has set the limit explicitly. */
  runMaxCost: 'gdn-run-max-cost',
  /**
   * The blockchains whose coins have no value on the server, separated by commas, or `*` for all. Requests on other
   * blockchains may cost money. If the header is absent, every request may cost money.
   */
  blockchainsWithoutValue: 'blockchains-without-value',
  /** `yes` in a request means that the server must reject it if the coins of its blockchain have value. */
  onlyWithoutValue: 'gdn-only-without-value',
  /**
   * The UUID of the backend's database, and the UUID of its incarnation. The incarnation changes when the database is
   * restored.
   */
  backendId: 'gdn-backend-id',
  incarnation: 'gdn-incarnation',
  rateLimitPolicy: 'ratelimit-policy',
  retryAfter: 'retry-after',
} as const

/**
 * The extensions that a server may support. A server that supports an extension sends a header with the value `yes`.
 */
export const CAPABILITIES = {
  /** The server honors Idempotency-Key. */
  idempotency: 'idempotency-supported',
  /**
   * Each creating endpoint executes the operation of a reference ID at most once. The server also has `getreferences`.
   */
  references: 'reference-ids-supported',
  /** The server stores labels and kinds of reference IDs, and has `relabelreferences`. */
  labels: 'reference-labels-supported',
  /** The server has `aliasreferences` and `getcontentreferences`. */
  aliases: 'reference-aliases-supported',
  /** The server has creatednft, updatednft, freezenft and burnnft, and supports reference IDs in them. */
  updates: 'updates-supported',
  /** The server limits the cost of runs. */
  runCosts: 'run-max-cost-supported',
  /** The server limits the fees of runs, and has `setrunmaxfee`. */
  runFees: 'run-max-fee-supported',
  /** The server has `getnfthistory`. */
  history: 'nft-history-supported',
  /** The server has `getnftowners`. */
  owners: 'nft-owners-supported',
  /** The server limits the supply of collections (`max_supply`), and has `getsupply`. */
  maxSupply: 'max-supply-supported',
  /** The server supports `Prefer: wait`: it holds the response to a lookup while one of the records is pending. */
  waits: 'prefer-wait-supported',
  /** The server stores the ENS name of a receiver (`receiver_name`). */
  names: 'receiver-names-supported',
  /** The server publishes the `display_type` and `max_value` of attributes. */
  traits: 'typed-traits-supported',
} as const
export type Capability = keyof typeof CAPABILITIES

/** Values of the `Error-Code` header that explain why an Idempotency-Key was rejected. */
export const IDEMPOTENCY_ERRORS = {
  /** 422: the key was used with another body. The earlier request may have had an effect. */
  reused: 'idempotency_key_reused',
  /** 400: the key is empty or too long. The request had no effect. */
  invalid: 'idempotency_key_invalid',
} as const

/** Values of the `Error-Code` header that explain why reference IDs were rejected. The request had no effect. */
export const REFERENCE_ERRORS = {
  /** 409: the reference ID belongs to an operation with another digest. */
  conflict: 'reference_id_conflict',
  /** 409: the reference ID already has a different label. */
  otherLabel: 'reference_label_conflict',
  /** 422: the request contains the reference ID twice. */
  repeated: 'reference_id_repeated',
} as const

/**
 * Values of the `Error-Code` header that explain why a request that permits only coins without value was rejected. The
 * request had no effect.
 */
export const VALUE_ERRORS = {
  /** 412: the coins of the request's blockchain have value. */
  hasValue: 'blockchain_has_value',
} as const

/**
 * Values of the `Error-Code` header that explain why a blockchain currently accepts no requests. The request had no
 * effect.
 */
export const CHAIN_ERRORS = {
  /**
   * 503: the blockchain's signers lack funds, or the blockchain isn't set up. Only the backend's operator can fix this.
   */
  notReady: 'blockchain_not_ready',
} as const

/** Values of the `Error-Code` header that explain why NFTs of a collection were rejected. The request had no effect. */
export const SUPPLY_ERRORS = {
  /** 409: the NFTs would exceed the collection's maximum supply. */
  maxSupply: 'max_supply',
} as const

/** Values of the `Error-Code` header that explain why a shuffled drop was rejected. The request had no effect. */
export const SHUFFLE_ERRORS = {
  /** 409: the drop can't be sealed while one of its NFTs is pending or a reorg can still remove one of its mints. */
  notFinal: 'drop_not_final',
  /** 409: the drop is sealed, so none of its other NFTs can be minted. */
  sealed: 'drop_sealed',
} as const

/** Values of the `Error-Code` header that explain why rows of a run were rejected. The request had no effect. */
export const RUN_ERRORS = {
  /**
   * 409: the rows may cost more than the run's remaining limit. A Retry-After header means that more of the limit may
   * be available later.
   */
  maxCost: 'run_max_cost',
} as const
