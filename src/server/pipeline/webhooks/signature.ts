import { createHmac, randomBytes } from 'node:crypto'
import { Secret } from '../../../core/secret.ts'

/** Creates a signing secret: `whsec_` and 256 random bits. The complete text is the key of the HMAC. */
export function newSigningSecret(): Secret {
  return new Secret(`whsec_${randomBytes(32).toString('base64url')}`)
}

/**
 * Returns the value of Gdn-Signature for a body: `t=<unix seconds>,v1=<hex HMAC-SHA-256 of "<t>.<body>">`. The time is
 * part of the signed text, so that a captured delivery can't be replayed later.
 *
 * @example sign(secret, '{"id":"evt_1"}', 1700000000000) // 't=1700000000,v1=…'
 */
export function signWebhookBody(secret: string, body: string, now: number): string {
  const t = Math.floor(now / 1000)
  return `t=${t},v1=${createHmac('sha256', secret).update(`${t}.${body}`, 'utf8').digest('hex')}`
}
