/** Maximum size of a transaction in bytes: one packet of the network. */
export const MAX_TRANSACTION_BYTES = 1232
export const SIGNATURE_BYTES = 64
/** Size of a public key, and therefore of an address, in bytes. */
export const KEY_BYTES = 32
