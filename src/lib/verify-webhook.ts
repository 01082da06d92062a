import { createHmac, timingSafeEqual } from 'node:crypto'
import { SIGNATURE_HEADER, SIGNATURE_TOLERANCE_SECONDS } from '../api/webhook-events.ts'

/** Headers of a request, from `node:http`, Express or Fastify, or the `Headers` of `fetch`. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

/**
 * Returns whether gdn sent a webhook delivery. The delivery must be signed with the webhook's secret, at most 5 minutes
 * before or after the current time. Returns false for anything else, and never throws. The comparison takes constant
 * time.
 *
 * @param body the body as it was received. JSON that was parsed and serialized again may have different bytes.
 * @param secret the secret that `gdn webhook add` printed
 * @example
 * if (!verifyWebhook(body, request.headers, secret)) response.writeHead(401)
 */
export function verifyWebhook(body: string | Uint8Array, headers: WebhookHeaders, secret: string): boolean {
  try {
    const signed = /^t=(\d{1,12}),v1=([0-9a-f]{64})$/.exec(signatureIn(headers) ?? '')
    const [, t = '', v1 = ''] = signed ?? []
    // Anyone can sign with an empty secret.
    if (signed === null || typeof secret !== 'string' || secret === '') return false
    if (Math.abs(Date.now() / 1000 - Number(t)) > SIGNATURE_TOLERANCE_SECONDS) return false
    const expected = createHmac('sha256', secret).update(`${t}.`).update(body).digest()
    return timingSafeEqual(Buffer.from(v1, 'hex'), expected)
  } catch {
    // An untyped program may pass a body that is neither text nor bytes, or headers that throw.
    return false
  }
}

function signatureIn(headers: WebhookHeaders): string | undefined {
  if (headers instanceof Headers) return headers.get(SIGNATURE_HEADER) ?? undefined
  const name = SIGNATURE_HEADER.toLowerCase()
  const sameName = Object.entries(headers).filter(([key]) => key.toLowerCase() === name)
  const values = sameName.flatMap(([, value]) => value ?? [])
  return values.length === 1 ? values[0] : undefined
}
